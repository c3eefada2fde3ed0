// SPDX-License-Identifier: GPL-3.0-or-later
// Parts of the tokenizer one by one, with results worked out by hand.
#include "model/text/json_scanner.h"
#include "model/text/models/merge_table.h"
#include "model/text/models/unigram_model.h"
#include "model/text/stream_decoder.h"
#include "model/text/token_spans.h"
#include "model/text/unicode.h"
#include "model/text/vocabulary.h"

#include "refusal.h"
#include "tokenizer_json.h"

#include <gtest/gtest.h>

namespace ecokv::model {

namespace {

using Ids = std::vector<TokenId>;

Tokenizer llama() {
    return Tokenizer::fromJson(llamaJson().dump(), "llama");
}

/// The stretches of `text` where the tokens stand; "?" = nowhere.
std::vector<std::string> stretches(const Tokenizer& tokenizer, const std::string& text) {
    std::vector<std::string> found;
    for (const auto& span : tokenSpans(tokenizer, tokenizer.encode(text, false), text)) {
        found.push_back(span ? text.substr(span->begin, span->end - span->begin) : "?");
    }
    return found;
}

} // namespace

TEST(Vocabulary, aTokenNamedTwiceKeepsItsLastId) {
    Vocabulary vocabulary;
    for (TokenId id = 0; id < 1000; ++id) { // grows several times
        vocabulary.set(fmt::format("t{}", id), id);
    }
    vocabulary.set("t7", 2000);
    EXPECT_EQ(vocabulary.find("t7"), 2000);
    EXPECT_EQ(vocabulary.find("t999"), 999);
    EXPECT_EQ(vocabulary.find("t1000"), std::nullopt);
    EXPECT_EQ(vocabulary.token(2000), "t7");
    EXPECT_EQ(vocabulary.size(), 1000U);
    EXPECT_EQ(vocabulary.idEnd(), 2001);
    EXPECT_FALSE(vocabulary.knows(1500)); // ids between others may be unused
    EXPECT_EQ(vocabulary.token(-1), "");
}

TEST(MergeTable, lowestRankFirstAndLeftmostAmongEquals) {
    enum : TokenId { A, B, AA, AB, AAB };
    MergeTable table;
    table.add(A, B, AB);
    table.add(A, A, AA);
    table.add(AA, B, AAB);
    const auto merged = [&](Ids ids, std::size_t begin = 0) {
        table.apply(ids, begin);
        return ids;
    };
    EXPECT_EQ(merged({A, A, A}), (Ids{AA, A}));
    EXPECT_EQ(merged({A, A, B}), (Ids{A, AB})); // "a b" has the lower rank
    EXPECT_EQ(merged({A, A, A, B, A}), (Ids{AA, AB, A}));
    EXPECT_EQ(merged({A, B, A, B}, 2), (Ids{A, B, AB})); // what stands before is left alone
    EXPECT_EQ(merged({}), Ids{});
    table.add(A, A, AA); // now after all others: still merged, since it can be
    EXPECT_EQ(merged({A, A}), Ids{AA});
}

TEST(JsonScanner, readsStringsAsJsonWritesThem) {
    for (const char* text :
         {R"("a\"\\\/\b\f\n\r\t")", R"("\u00e9\u4f60\ud83d\ude00")", R"("é😀")", R"("")"}) {
        EXPECT_EQ(JsonScanner(text).string(), nlohmann::json::parse(text).get<std::string>());
    }
    for (const char* text :
         {"\"a", R"("\x")", R"("\ud83d")", R"("\u12")", "\"\n\"", "\"\xff\"", "a", ""}) {
        EXPECT_THROW(JsonScanner(text).string(), JsonScanner::SyntaxError) << text;
        EXPECT_FALSE(nlohmann::json::accept(std::string(text))) << text;
    }
}

TEST(JsonScanner, skipsWholeValues) {
    const std::string text = R"( {"a" : {"b": "}]\"", "c": [1, {}]} , "d":-1.5e3,"e":null})";
    JsonScanner scanner(text);
    std::vector<std::string> read;
    for (scanner.open('{'); scanner.nextElement('}');) {
        read.emplace_back(scanner.key());
        read.emplace_back(scanner.value());
    }
    EXPECT_TRUE(scanner.atEnd());
    EXPECT_EQ(read, (std::vector<std::string>{"a", R"({"b": "}]\"", "c": [1, {}]})", "d", "-1.5e3",
                                              "e", "null"}));
    EXPECT_THROW(JsonScanner(R"({"a": [1})").value(), JsonScanner::SyntaxError);
}

TEST(Unigram, takesTheWayWithTheLargestSumOfScores) {
    // The pieces of the reference's own documentation: "abcdacdxx" is abcd, a, cd and unknown "xx".
    const auto json = nlohmann::json::parse(R"({"unk_id": 0, "vocab": [["<unk>", 0.0], ["a", 0.0],
        ["b", 0.0], ["c", 0.0], ["d", 0.0], ["cd", 1.0], ["ab", 2.0], ["abc", 5.0],
        ["abcd", 10.0]]})");
    const std::string vocabulary = json["vocab"].dump();
    TokenizerFile file{.json = Json{{"unk_id", 0}}, .vocabulary = vocabulary, .merges = {}};
    const UnigramModel model(JsonObject(file.json, "t"), file);
    Ids ids;
    model.encodeWord("abcdacdxx", ids);
    EXPECT_EQ(ids, (Ids{8, 1, 5, 0}));
    file.json = Json::object();
    const UnigramModel strict(JsonObject(file.json, "t.json"), file);
    EXPECT_SAYS(refusal([&] { strict.encodeWord("ax", ids); }), "t.json has no token for");
}

TEST(Tokenizer, bytesOfSentencePieceTokensAreThoseInsideAText) { // F118
    const Tokenizer tokenizer = llama();
    EXPECT_EQ(tokenizer.tokenBytes(268), " the");
    EXPECT_EQ(tokenizer.tokenBytes(0xe4), "\xe4");
    EXPECT_EQ(tokenizer.tokenBytes(256), "<s>");
    EXPECT_EQ(tokenizer.decode({268}, false), "the"); // alone it is the first, and loses the space
    EXPECT_EQ(tokenizer.decode({268, 268}, false), "the the");
    EXPECT_EQ(tokenizer.decodeFollowing({268, 268}, false), " the the");
    EXPECT_EQ(tokenizer.encode("the 你", false), (Ids{268, 257, 0xe4, 0xbd, 0xa0}));
}

TEST(StreamDecoder, bytesOfACharacterWaitForEachOther) { // F118
    const Tokenizer tokenizer = llama();
    StreamDecoder stream(tokenizer);
    EXPECT_EQ(stream.push(257), ""); // a space in front: shown only if more of them come
    EXPECT_EQ(stream.push(0xe4), "");
    EXPECT_EQ(stream.push(0xbd), "");
    EXPECT_EQ(stream.push(0xa0), "你");
    EXPECT_EQ(stream.push(256), ""); // special
    EXPECT_EQ(stream.push(268), " the");
    EXPECT_EQ(stream.push(257), " ");
    EXPECT_EQ(stream.push(0xe4), "");
    EXPECT_EQ(stream.push(266), "\ufffdth"); // the character was never completed
    EXPECT_EQ(stream.push(0xe4), "");
    EXPECT_EQ(stream.finish(), "\ufffd");
    EXPECT_EQ(stream.finish(), "");
}

TEST(TokenSpans, aSpaceThatEncodingAddsIsNotInTheText) {
    const Tokenizer tokenizer = llama();
    using Words = std::vector<std::string>;
    EXPECT_EQ(stretches(tokenizer, "Hey the"), (Words{"Hey", " the"}));
    EXPECT_EQ(stretches(tokenizer, "<s>Hey the<image>the"),
              (Words{"<s>", "Hey", " the", "<image>", "the"}));
    EXPECT_EQ(stretches(tokenizer, " the<s> Hey"), (Words{" ", "the", "<s>", " ", "Hey"}));
    EXPECT_EQ(stretches(tokenizer, "the 你"), (Words{"the", " ", "\xe4", "\xbd", "\xa0"}));
    EXPECT_EQ(stretches(tokenizer, ""), Words{});
}

TEST(TokenSpans, aRewrittenMiddleLeavesBothEnds) { // F111
    auto json = llamaJson();
    json["normalizer"]["normalizers"].push_back({{"type", "NFC"}});
    json["added_tokens"][1]["rstrip"] = true;
    const auto tokenizer = Tokenizer::fromJson(json.dump(), "t");
    EXPECT_EQ(stretches(tokenizer, "<s>Hey e\u0301 the<image>  the"),
              (std::vector<std::string>{"<s>", "Hey", " ", "?", "?", " the", "<image>", " the"}));
}

TEST(Unicode, spacesAtTheEndsAndGraphemes) {
    EXPECT_EQ(leadingWhiteSpace("\u3000 a "), 4U);
    EXPECT_EQ(trailingWhiteSpace("\u3000 a \u0085"), 3U);
    EXPECT_EQ(trailingWhiteSpace(" \u2003"), 4U);
    EXPECT_EQ(leadingWhiteSpace(""), 0U);
    EXPECT_EQ(graphemeLength("e\u0301x"), 3U);
    EXPECT_EQ(graphemeLength("\r\n"), 2U);
    EXPECT_EQ(graphemeLength("\U0001f1e9\U0001f1ea\U0001f1eb"), 8U); // a flag and half of one
    std::string lower;
    appendLower(lower, 0x130);
    EXPECT_EQ(lower, "i\u0307");
    EXPECT_EQ(toForm("e\u0301", UnicodeForm::Nfc), "\u00e9");
}

} // namespace ecokv::model
