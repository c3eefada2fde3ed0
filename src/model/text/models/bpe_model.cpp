// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/models/bpe_model.h"

#include "base/error.h"
#include "model/file_advice.h"
#include "model/text/json_scanner.h"
#include "model/text/utf8.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace ecokv::model {

namespace {

void refuseUnsupported(const JsonObject& model) {
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
        if (!model.string(key, "").empty()) {
            throwBadInput(
                fmt::format("{} = \"{}\" is not supported.", model.where(key),
                            model.string(key, "")),
                "Tokenizers that mark the parts of words this way are not read; models of this "
                "family use none, so check that tokenizer.json belongs to the model.");
        }
    }
    if (model.number("dropout", 0.0) != 0.0) {
        throwBadInput(
            fmt::format("{}: random merges are for training only.", model.where("dropout")),
            "Set it to null.");
    }
}

bool isOneCharacter(std::string_view token) {
    return !token.empty() && utf8At(token, 0).length == token.size();
}

std::optional<TokenId> readId(std::string_view text) {
    TokenId id = 0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, id);
    const bool good = error == std::errc{} && stopped == end && id >= 0;
    return good && id < Vocabulary::kIdLimit ? std::optional(id) : std::nullopt;
}

} // namespace

BpeModel::BpeModel(const JsonObject& model, const TokenizerFile& file) {
    refuseUnsupported(model);
    m_byteFallback = model.boolean("byte_fallback", false);
    m_ignoreMerges = model.boolean("ignore_merges", false);
    m_fuseUnknown = model.boolean("fuse_unk", false);
    readVocabulary(model, file.vocabulary);
    readMerges(model, file);
    if (const auto unknown = model.findString("unk_token")) {
        m_unknown = m_vocabulary.find(*unknown);
    }
    if (m_byteFallback) {
        m_byteTokens = ByteTokens(m_vocabulary);
    }
}

void BpeModel::readVocabulary(const JsonObject& model, std::string_view text) {
    JsonScanner scanner(text);
    if (scanner.peek() != '{') {
        throwBadInput(fmt::format("{} must be an object of tokens and ids.", model.where("vocab")),
                      "Check that the file belongs to this model.");
    }
    m_vocabulary.reserve(text.size() / 24); // a guess that saves most of the growing
    std::string token;
    for (scanner.open('{'); scanner.nextElement('}');) {
        token = scanner.key();
        const std::string_view number = scanner.value();
        const auto id = readId(number);
        if (!id) {
            throwBadInput(fmt::format("{}: token \"{}\" has the id {}, which is not one.",
                                      model.where("vocab"), token, number),
                          kTokenizerAdvice);
        }
        m_vocabulary.set(token, *id);
    }
}

void BpeModel::readMerges(const JsonObject& model, const TokenizerFile& file) {
    const std::string_view text = file.merges;
    JsonScanner scanner(text);
    if (scanner.peek() != '[') {
        throwBadInput(fmt::format("{} must be a list.", model.where("merges")), kTokenizerAdvice);
    }
    m_merges.reserve(static_cast<std::size_t>(std::ranges::count(text, ',')) / 2);
    std::string left;
    for (scanner.open('['); scanner.nextElement(']');) {
        if (scanner.peek() == '"') {
            left = scanner.string();
            addMerge(splitMerge(left, model), model);
            continue;
        }
        const std::size_t begin = scanner.position();
        try {
            scanner.expect('[');
            left = scanner.string();
            scanner.expect(',');
            addMerge({left, scanner.string()}, model);
            scanner.expect(']');
        } catch (const JsonScanner::SyntaxError&) {
            throwBadInput(fmt::format("{}: {} is neither a string nor a pair of strings.",
                                      model.where("merges"),
                                      JsonScanner(text.substr(begin)).value()),
                          kTokenizerAdvice);
        }
    }
    if (m_merges.empty() && !m_ignoreMerges) {
        refuseMissingMerges(model, file.json);
    }
}

/// A tokenizer of single bytes or characters needs no merges; any other would fall apart. Added
/// tokens and the unknown one are found without merges.
void BpeModel::refuseMissingMerges(const JsonObject& model, const Json& file) const {
    const std::string unknown = model.findString("unk_token").value_or("");
    const Json added = file.value("added_tokens", Json::array());
    const auto isWhole = [&](std::string_view token) {
        return token == unknown || std::ranges::any_of(added, [&](const Json& entry) {
                   return entry.is_object() && entry.contains("content") &&
                          entry["content"] == token;
               });
    };
    for (TokenId id = 0; id < m_vocabulary.idEnd(); ++id) {
        const std::string_view token = m_vocabulary.token(id);
        if (token.empty() || isOneCharacter(token) || byteOfToken(token) || isWhole(token)) {
            continue;
        }
        throwBadInput(fmt::format("{} is empty, but the vocabulary has tokens of several "
                                  "characters (\"{}\").",
                                  model.where("merges"), token),
                      "Every text would fall apart into single characters; get the complete file.");
    }
}

BpeModel::Parts BpeModel::splitMerge(std::string_view text, const JsonObject& model) const {
    std::vector<Parts> found;
    for (std::size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at + 1)) {
        const Parts parts{text.substr(0, at), text.substr(at + 1)};
        std::string whole(parts.first);
        whole += parts.second;
        if (m_vocabulary.find(parts.first) && m_vocabulary.find(parts.second) &&
            m_vocabulary.find(whole)) {
            found.push_back(parts);
        }
    }
    if (found.size() != 1) {
        throwBadInput(fmt::format("{}: \"{}\" can be read as a merge in {} ways.",
                                  model.where("merges"), text, found.size()),
                      found.empty() ? kTokenizerAdvice : "Write the merges as pairs.");
    }
    return found.front();
}

void BpeModel::addMerge(const Parts& parts, const JsonObject& model) {
    std::string whole(parts.first);
    whole += parts.second;
    const auto left = m_vocabulary.find(parts.first);
    const auto right = m_vocabulary.find(parts.second);
    const auto result = m_vocabulary.find(whole);
    if (!left || !right || !result) {
        throwBadInput(fmt::format("{}: the merge of \"{}\" and \"{}\" names a token that is not in "
                                  "the vocabulary.",
                                  model.where("merges"), parts.first, parts.second),
                      kTokenizerAdvice);
    }
    m_merges.add(*left, *right, *result);
}

/// The tokens of the single characters. An unknown one waits for the next known one, so that a row
/// of them can become one token; bytes do not end the row, which is how the reference does it.
void BpeModel::appendCharacters(std::string_view word, std::vector<TokenId>& ids) const {
    bool waiting = false;
    const auto flush = [&] {
        if (waiting) {
            ids.push_back(*m_unknown);
        }
        waiting = false;
    };
    for (std::size_t i = 0; i < word.size();) {
        const std::string_view character = word.substr(i, utf8At(word, i).length);
        i += character.size();
        if (const auto id = m_vocabulary.find(character)) {
            flush();
            ids.push_back(*id);
            continue;
        }
        if (m_byteTokens.append(character, ids)) {
            continue;
        }
        if (!m_unknown) {
            continue; // the reference drops it too; SmolLM2 lacks some control characters
        }
        if (!m_fuseUnknown) {
            flush();
        }
        waiting = true;
    }
    flush();
}

void BpeModel::encodeWord(std::string_view word, std::vector<TokenId>& ids) const {
    if (m_ignoreMerges) {
        if (const auto whole = m_vocabulary.find(word)) {
            ids.push_back(*whole);
            return;
        }
    }
    const std::size_t begin = ids.size();
    appendCharacters(word, ids);
    m_merges.apply(ids, begin);
}

} // namespace ecokv::model
