// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/added_tokens.h"

#include "base/error.h"
#include "model/file_advice.h"
#include "model/text/unicode.h"
#include "model/text/utf8.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

namespace ecokv::model {

namespace {

const TextPattern& wordFirst() {
    // Word characters as Rust's regular expressions have them.
    static const TextPattern kPattern = TextPattern::regex(
        R"(\A[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}])", "added tokens");
    return kPattern;
}

bool beginsWithWord(std::string_view text) {
    const TextSpan found = wordFirst().findFirst(text);
    return found.begin != found.end;
}

bool endsWithWord(std::string_view text) {
    return !text.empty() && beginsWithWord(text.substr(lastCharacter(text)));
}

} // namespace

AddedToken readAddedToken(const JsonObject& object) {
    AddedToken token;
    token.content = object.string("content", "");
    token.special = object.boolean("special", false);
    token.singleWord = object.boolean("single_word", false);
    token.stripsLeft = object.boolean("lstrip", false);
    token.stripsRight = object.boolean("rstrip", false);
    token.normalized = object.boolean("normalized", !token.special);
    return token;
}

void AddedTokens::Patterns::add(const std::string& pattern, std::size_t token) {
    if (pattern.empty() || m_patterns.find(pattern)) {
        return;
    }
    m_patterns.set(pattern, static_cast<TokenId>(token));
    auto& lengths = m_lengths[static_cast<std::uint8_t>(pattern.front())];
    const auto place = std::ranges::lower_bound(lengths, pattern.size(), std::greater<>());
    if (place == lengths.end() || *place != pattern.size()) {
        lengths.insert(place, pattern.size());
    }
}

std::optional<AddedTokens::Patterns::Match> AddedTokens::Patterns::longestAt(std::string_view text,
                                                                             std::size_t at) const {
    for (const std::size_t length : m_lengths[static_cast<std::uint8_t>(text[at])]) {
        const auto token = m_patterns.find(text.substr(at, length));
        if (token && at + length <= text.size()) {
            return Match{length, static_cast<std::size_t>(*token)};
        }
    }
    return std::nullopt;
}

std::vector<AddedToken> AddedTokens::listOf(const JsonObject& root) {
    std::vector<AddedToken> tokens;
    const Json* list = root.find("added_tokens");
    for (const Json& node : list != nullptr ? *list : Json::array()) {
        const JsonObject object(node, root.origin(), "added_tokens");
        const auto id = object.findInteger("id");
        if (!id || *id < 0 || *id >= Vocabulary::kIdLimit) {
            throwBadInput(fmt::format("{} is not a token id.", object.where("id")),
                          kTokenizerAdvice);
        }
        tokens.push_back(readAddedToken(object));
        tokens.back().id = static_cast<TokenId>(*id);
    }
    return tokens;
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) {
    for (AddedToken& token : tokens) {
        put(std::move(token));
    }
}

/// Enters a token under its id.
void AddedTokens::put(AddedToken token) {
    const auto [place, isNew] = m_byId.try_emplace(token.id, m_tokens.size());
    if (isNew) {
        m_tokens.emplace_back();
    }
    const std::size_t index = place->second;
    const bool wasSpecial = !isNew && m_tokens[index].special;
    if (!wasSpecial) { // a special one is listed already, and stays special
        m_listed.push_back({index, token.special, token.normalized});
    }
    token.special = token.special || wasSpecial;
    m_ids.set(token.content, token.id);
    m_tokens[index] = std::move(token);
}

TokenId AddedTokens::nextId(const Vocabulary& vocabulary) const {
    const auto size = static_cast<TokenId>(vocabulary.size());
    return std::max(size, m_ids.idEnd());
}

void AddedTokens::add(std::vector<AddedToken> tokens, const Vocabulary& vocabulary) {
    for (AddedToken& token : tokens) {
        if (token.content.empty()) {
            continue;
        }
        const auto here = m_ids.find(token.content);
        const auto known = here ? here : vocabulary.find(token.content);
        token.id = known ? *known : nextId(vocabulary);
        put(std::move(token));
    }
}

void AddedTokens::prepare(const Normalizer& normalizer) {
    for (const bool special : {true, false}) { // of equal patterns the special one counts
        for (const Listed& listed : m_listed) {
            const std::string& content = m_tokens[listed.token].content;
            if (listed.special != special) {
                continue;
            }
            if (listed.normalized) {
                m_normalized.add(normalizer.apply(content).text, listed.token);
            } else {
                m_raw.add(content, listed.token);
            }
        }
    }
}

const AddedToken* AddedTokens::find(TokenId id) const {
    const auto found = m_byId.find(id);
    return found == m_byId.end() ? nullptr : &m_tokens[found->second];
}

std::optional<TokenId> AddedTokens::find(std::string_view content) const {
    return m_ids.find(content);
}

bool AddedTokens::standsAlone(std::string_view text, const TextSpan& span) const {
    return !endsWithWord(text.substr(0, span.begin)) && !beginsWithWord(text.substr(span.end));
}

void AddedTokens::cut(const Word& word, const Patterns& patterns,
                      std::vector<TextPiece>& pieces) const {
    const std::string_view text = word.text;
    std::size_t done = 0; // everything before is in `pieces`
    const auto addText = [&](std::size_t end) {
        if (done < end) {
            pieces.push_back(
                {{std::string(text.substr(done, end - done)), word.startsPrompt && done == 0},
                 std::nullopt});
        }
    };
    for (std::size_t at = 0; at < text.size();) {
        const auto match = patterns.longestAt(text, at);
        if (!match) {
            ++at;
            continue;
        }
        const AddedToken& token = m_tokens[match->token];
        TextSpan span{at, at + match->length};
        at = span.end;
        if (token.singleWord && !standsAlone(text, span)) {
            continue;
        }
        if (token.stripsLeft) {
            span.begin =
                std::max(span.begin - trailingWhiteSpace(text.substr(0, span.begin)), done);
        }
        if (token.stripsRight) {
            span.end += leadingWhiteSpace(text.substr(span.end));
        }
        addText(span.begin);
        pieces.push_back({{}, token.id});
        done = span.end;
    }
    addText(text.size());
}

std::vector<TextPiece> AddedTokens::split(std::string_view text,
                                          const Normalizer& normalizer) const {
    std::vector<TextPiece> raw;
    cut({std::string(text), true}, m_raw, raw);
    if (normalizer.empty() && m_normalized.empty()) {
        return raw;
    }
    std::vector<TextPiece> pieces;
    for (TextPiece& piece : raw) {
        if (piece.token) {
            pieces.push_back(std::move(piece));
        } else {
            NormalizedText normalized = normalizer.apply(piece.word.text);
            cut({std::move(normalized.text), piece.word.startsPrompt && normalized.keepsStart},
                m_normalized, pieces);
        }
    }
    return pieces;
}

} // namespace ecokv::model
