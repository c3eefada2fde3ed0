// SPDX-License-Identifier: GPL-3.0-or-later
// Edges of the text code that the Python oracles do not reach.
#include "model/text/byte_alphabet.h"
#include "model/text/chat_template.h"
#include "model/text/split_behavior.h"
#include "model/text/stream_decoder.h"
#include "model/text/text_pattern.h"
#include "model/text/tokenizer.h"
#include "model/text/utf8.h"

#include "refusal.h"
#include "tokenizer_json.h"

#include <gtest/gtest.h>

namespace ecokv::model {

namespace {

using Ids = std::vector<TokenId>;

} // namespace

TEST(Utf8, brokenSequencesAreCutAsUnicodeRecommends) {
    // Table 3-8 of the Unicode standard: 61 F1 80 80 E1 80 C2 62 80 63 80 BF 64
    EXPECT_EQ(sanitizeUtf8("a\xf1\x80\x80\xe1\x80\xc2"
                           "b\x80"
                           "c\x80\xbf"
                           "d"),
              "a\ufffd\ufffd\ufffdb\ufffdc\ufffd\ufffdd");
    EXPECT_EQ(sanitizeUtf8("\xed\xa0\x80"), "\ufffd\ufffd\ufffd"); // a surrogate
    EXPECT_EQ(sanitizeUtf8("\xc0\xaf"), "\ufffd\ufffd");           // overlong
    EXPECT_EQ(sanitizeUtf8("\xf4\x8f\xbf\xbf"), "\U0010ffff");
}

TEST(ByteAlphabet, everyByteReturnsUnchanged) {
    std::string bytes;
    for (int byte = 0; byte < 256; ++byte) {
        bytes += static_cast<char>(byte);
    }
    EXPECT_EQ(alphabetToBytes(bytesToAlphabet(bytes)), bytes);
    EXPECT_EQ(bytesToAlphabet(" \n"), "\u0120\u010a"); // as GPT-2 writes them
    EXPECT_FALSE(alphabetToBytes("a b"));
}

TEST(StreamDecoder, holdsBytesUntilACharacterIsComplete) { // F118
    const auto tokenizer = Tokenizer::fromJson(tokenizerJson({}, nlohmann::json::array()), "t");
    const Ids ids = tokenizer.encode("\U0001f600", false);
    ASSERT_EQ(ids.size(), 4U);
    StreamDecoder stream(tokenizer);
    EXPECT_EQ(stream.push(ids[0]), "");
    EXPECT_EQ(stream.push(ids[1]), "");
    EXPECT_EQ(stream.push(ids[2]), "");
    EXPECT_EQ(stream.push(ids[3]), "\U0001f600");
    EXPECT_EQ(tokenizer.tokenBytes(ids[1]), "\x9f"); // a table still shows the raw byte
    stream.push(ids[0]);
    EXPECT_EQ(stream.push('a'), "\ufffd"
                                "a");
    stream.push(ids[0]);
    EXPECT_EQ(stream.finish(), "\ufffd");
}

TEST(Tokenizer, mergesWithSpacesInTheirParts) { // F104; in the alphabet a real space is \u0120
    const auto pairs = nlohmann::json::parse(R"([["b", "\u0120"], ["b\u0120", "c"]])");
    const auto strings = nlohmann::json::parse(R"(["b \u0120", "b\u0120 c"])");
    for (const auto& merges : {pairs, strings}) {
        auto json = nlohmann::json::parse(tokenizerJson({"b\u0120", "b\u0120c"}, merges));
        json["pre_tokenizer"]["use_regex"] = false;
        const auto tokenizer = Tokenizer::fromJson(json.dump(), "t");
        EXPECT_EQ(tokenizer.encode("b c", false), Ids{257});
    }
    const auto ambiguous =
        tokenizerJson({"x y", "y z", "x", "z", "x y z"}, nlohmann::json::array({"x y z"}));
    EXPECT_SAYS(refusal([&] { Tokenizer::fromJson(ambiguous, "t"); }), "\"x y z\" can be read");
}

TEST(Tokenizer, wholeWordWinsOnlyIfMergesAreIgnored) { // F105: "hey" cannot be reached by merges
    const auto merges = nlohmann::json::array({"e y"});
    const auto plain = Tokenizer::fromJson(tokenizerJson({"ey", "hey"}, merges), "t");
    EXPECT_EQ(plain.encode("hey", false), (Ids{'h', 256}));
    const auto whole = Tokenizer::fromJson(tokenizerJson({"ey", "hey"}, merges, true), "t");
    EXPECT_EQ(whole.encode("hey", false), Ids{257});
}

TEST(Tokenizer, refusesIdsOutsideItsVocabulary) {
    const auto tokenizer =
        Tokenizer::fromJson(tokenizerJson({}, nlohmann::json::array()), "t.json");
    EXPECT_SAYS(refusal([&] { tokenizer.decode({7, 300}, false); }), "Token id 300");
    EXPECT_SAYS(refusal([&] { tokenizer.tokenBytes(-1); }), "Token id -1");
    EXPECT_TRUE(tokenizer.knows(7));
    EXPECT_FALSE(tokenizer.knows(300));
    EXPECT_FALSE(tokenizer.knows(-1));
    EXPECT_SAYS(refusal([] { Tokenizer::open("/nonexistent"); }), "has no tokenizer.json");
}

TEST(TextPattern, refusesWhatTheReferenceReadsDifferently) {
    for (const char* pattern :
         {"a{2}+", "[a[bc]]", "[a-z&&[^b]]", R"(\h)", R"([\W])", "(", "\\R"}) {
        EXPECT_SAYS(refusal([&] { TextPattern::regex(pattern, "tokenizer.json"); }),
                    "tokenizer.json");
    }
    const auto spaces = TextPattern::regex(R"([^\s]+)", "t").findAll("a\u180e\u0085b");
    EXPECT_EQ(spaces, (std::vector<TextSpan>{{0, 4}, {6, 7}})); // U+180E is no space, U+0085 is
}

TEST(TextPattern, emptyMatchesMoveOn) {
    const auto spans = TextPattern::regex("x*", "t").findAll("\u00e9x");
    EXPECT_EQ(spans, (std::vector<TextSpan>{{0, 0}, {2, 3}}));
}

TEST(SplitSpans, everyBehaviourCutsAsItsNameSays) {
    const std::vector<TextSpan> dashes{{1, 2}, {2, 3}, {5, 6}}; // "a--bc-d"
    const auto cut = [&](SplitBehavior behavior) { return splitSpans(7, dashes, behavior, false); };
    using Spans = std::vector<TextSpan>;
    EXPECT_EQ(cut(SplitBehavior::Removed), (Spans{{0, 1}, {3, 5}, {6, 7}}));
    EXPECT_EQ(cut(SplitBehavior::Isolated),
              (Spans{{0, 1}, {1, 2}, {2, 3}, {3, 5}, {5, 6}, {6, 7}}));
    EXPECT_EQ(cut(SplitBehavior::MergedWithPrevious), (Spans{{0, 2}, {2, 3}, {3, 6}, {6, 7}}));
    EXPECT_EQ(cut(SplitBehavior::MergedWithNext), (Spans{{0, 1}, {1, 2}, {2, 5}, {5, 7}}));
    EXPECT_EQ(cut(SplitBehavior::Contiguous), (Spans{{0, 1}, {1, 3}, {3, 5}, {5, 6}, {6, 7}}));
}

// Models without eyes have no image marker: an empty one is no endless search.
TEST(ChatTemplate, aTemplateThatTakesOneStringNeedsNoMarker) {
    const auto chat = ChatTemplate::fromSource(
        "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] + '.' }}{% endfor %}", "here",
        Json::object());
    const RenderedChat rendered = chat.render({{"user", "hi", 0}}, "");
    EXPECT_EQ(rendered.text, "<user>hi.");
    EXPECT_FALSE(rendered.contentAsParts);
    EXPECT_TRUE(rendered.notes.empty()) << "there is no picture to write a marker for";
    const RenderedChat picture = chat.render({{"user", "hi", 1}}, "<image>");
    EXPECT_EQ(picture.notes.size(), 1U);
}

} // namespace ecokv::model
