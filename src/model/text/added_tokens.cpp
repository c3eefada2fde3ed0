// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/added_tokens.h"

#include "base/error.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace ecokv::model {

namespace {

/// Unicode's word characters, as the reference's engine has them.
const TextPattern& patternOf(const char* source) {
    static std::unordered_map<std::string, TextPattern> kCompiled = [] {
        std::unordered_map<std::string, TextPattern> compiled;
        const std::string word = R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}])";
        compiled.emplace("word first", TextPattern::regex(R"(\A)" + word, "added tokens"));
        compiled.emplace("word last", TextPattern::regex(word + R"(\z)", "added tokens"));
        compiled.emplace("space first", TextPattern::regex(R"(\A\s+)", "added tokens"));
        compiled.emplace("space last", TextPattern::regex(R"(\s+\z)", "added tokens"));
        return compiled;
    }();
    return kCompiled.at(source);
}

bool matches(const char* pattern, std::string_view text) {
    const TextSpan found = patternOf(pattern).findFirst(text);
    return found.begin != found.end;
}

std::size_t matchLength(const char* pattern, std::string_view text) {
    const TextSpan found = patternOf(pattern).findFirst(text);
    return found.end - found.begin;
}

AddedToken readToken(const Json& node, const std::string& origin) {
    const JsonObject object(node, origin, "added_tokens");
    AddedToken token;
    const auto id = object.findInteger("id");
    if (!id || *id < 0 || *id > std::numeric_limits<TokenId>::max()) {
        throwBadInput(fmt::format("{} is not a token id.", object.where("id")));
    }
    token.id = static_cast<TokenId>(*id);
    token.content = object.string("content", "");
    token.special = object.boolean("special", false);
    token.singleWord = object.boolean("single_word", false);
    token.stripsLeft = object.boolean("lstrip", false);
    token.stripsRight = object.boolean("rstrip", false);
    token.normalized = object.boolean("normalized", !token.special);
    return token;
}

} // namespace

AddedTokens AddedTokens::fromJson(const JsonObject& root, const Normalizer& normalizer) {
    AddedTokens added;
    const Json* list = root.find("added_tokens");
    for (const Json& node : list != nullptr ? *list : Json::array()) {
        AddedToken token = readToken(node, root.origin());
        const std::string pattern =
            token.normalized ? normalizer.apply(token.content) : token.content;
        if (!pattern.empty()) {
            Buckets& buckets = token.normalized ? added.m_normalized : added.m_raw;
            buckets[pattern.front()].emplace_back(pattern, added.m_tokens.size());
        }
        added.m_tokens.push_back(std::move(token));
    }
    for (Buckets* buckets : {&added.m_raw, &added.m_normalized}) {
        for (auto& [first, bucket] : *buckets) {
            std::ranges::stable_sort(bucket, [](const auto& a, const auto& b) {
                return a.first.size() > b.first.size();
            });
        }
    }
    return added;
}

bool AddedTokens::standsAlone(std::string_view text, const TextSpan& span) const {
    return !matches("word last", text.substr(0, span.begin)) &&
           !matches("word first", text.substr(span.end));
}

void AddedTokens::cut(std::string_view text, const Buckets& buckets,
                      std::vector<TextPiece>& pieces) const {
    std::size_t done = 0; // everything before is in `pieces`
    for (std::size_t at = 0; at < text.size();) {
        const auto bucket = buckets.find(text[at]);
        const auto* match = static_cast<const std::pair<std::string, std::size_t>*>(nullptr);
        if (bucket != buckets.end()) {
            const auto found = std::ranges::find_if(bucket->second, [&](const auto& entry) {
                return text.substr(at).starts_with(entry.first);
            });
            match = found == bucket->second.end() ? nullptr : &*found;
        }
        if (match == nullptr) {
            ++at;
            continue;
        }
        const AddedToken& token = m_tokens[match->second];
        TextSpan span{at, at + match->first.size()};
        at = span.end;
        if (token.singleWord && !standsAlone(text, span)) {
            continue;
        }
        if (token.stripsLeft) {
            const auto before = text.substr(0, span.begin);
            span.begin = std::max(before.size() - matchLength("space last", before), done);
        }
        if (token.stripsRight) {
            span.end += matchLength("space first", text.substr(span.end));
            at = span.end;
        }
        if (done < span.begin) {
            pieces.push_back({std::string(text.substr(done, span.begin - done)), std::nullopt});
        }
        pieces.push_back({{}, token.id});
        done = span.end;
    }
    if (done < text.size()) {
        pieces.push_back({std::string(text.substr(done)), std::nullopt});
    }
}

std::vector<TextPiece> AddedTokens::split(std::string_view text,
                                          const Normalizer& normalizer) const {
    std::vector<TextPiece> raw;
    cut(text, m_raw, raw);
    if (normalizer.empty() && m_normalized.empty()) {
        return raw;
    }
    std::vector<TextPiece> pieces;
    for (TextPiece& piece : raw) {
        if (piece.token) {
            pieces.push_back(std::move(piece));
        } else {
            cut(normalizer.apply(piece.text), m_normalized, pieces);
        }
    }
    return pieces;
}

} // namespace ecokv::model
