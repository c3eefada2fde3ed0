// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/models/unigram_model.h"

#include "base/error.h"
#include "model/file_advice.h"
#include "model/text/json_scanner.h"
#include "model/text/text_pattern.h"
#include "model/text/utf8.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ranges>

#include <fmt/format.h>

namespace ecokv::model {

namespace {

constexpr double kUnknownPenalty = 10.0;

std::optional<double> readScore(std::string_view text) {
    double score = 0.0;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, score);
    return error == std::errc{} && stopped == end && std::isfinite(score) ? std::optional(score)
                                                                          : std::nullopt;
}

} // namespace

UnigramModel::UnigramModel(const JsonObject& model, const TokenizerFile& file)
    : m_origin(model.origin()) {
    readVocabulary(model, file.vocabulary);
    if (m_scores.empty()) {
        throwBadInput(fmt::format("{} is empty.", model.where("vocab")), "Get the complete file.");
    }
    m_unknownScore = *std::ranges::min_element(m_scores) - kUnknownPenalty;
    if (const auto unknown = model.findInteger("unk_id")) {
        if (*unknown < 0 || *unknown >= std::ssize(m_scores)) {
            throwBadInput(fmt::format("{} = {} is outside the vocabulary of {} tokens.",
                                      model.where("unk_id"), *unknown, m_scores.size()),
                          kTokenizerAdvice);
        }
        m_unknown = static_cast<TokenId>(*unknown);
    }
    if (model.boolean("byte_fallback", false)) {
        m_byteTokens = ByteTokens(m_vocabulary);
    }
}

void UnigramModel::readVocabulary(const JsonObject& model, std::string_view text) {
    JsonScanner scanner(text);
    if (scanner.peek() != '[') {
        throwBadInput(fmt::format("{} must be a list of tokens and scores.", model.where("vocab")),
                      "Check that the file belongs to this model.");
    }
    std::string token;
    for (scanner.open('['); scanner.nextElement(']');) {
        const auto id = static_cast<TokenId>(m_scores.size());
        scanner.expect('[');
        token = scanner.string();
        scanner.expect(',');
        const std::string_view number = scanner.value();
        scanner.expect(']');
        const auto score = readScore(number);
        if (!score || id >= Vocabulary::kIdLimit) {
            throwBadInput(fmt::format("{}: token \"{}\" has the score {}, which is not one.",
                                      model.where("vocab"), token, number),
                          kTokenizerAdvice);
        }
        m_vocabulary.set(token, id);
        m_trie.add(token, id);
        m_scores.push_back(*score);
    }
}

TokenId UnigramModel::unknownFor(std::string_view text) const {
    if (!m_unknown) {
        throwBadInput(fmt::format("{} has no token for the character \"{}\" and no unknown token.",
                                  m_origin, text),
                      kTokenizerAdvice);
    }
    return *m_unknown;
}

std::vector<UnigramModel::Step> UnigramModel::bestSteps(std::string_view word) const {
    std::vector<Step> steps(word.size() + 1); // by the byte where they end
    for (std::size_t begin = 0; begin < word.size();) {
        const std::size_t character = utf8At(word, begin).length;
        const double reached = steps[begin].score;
        const auto isBetter = [&](std::size_t end, double score) {
            return steps[end].begin == Step::kUnreached || score > steps[end].score;
        };
        bool hasCharacter = false;
        m_trie.matchesAt(word.substr(begin), [&](std::size_t length, TokenId id) {
            const double score = m_scores[static_cast<std::size_t>(id)] + reached;
            if (isBetter(begin + length, score)) {
                steps[begin + length] = {score, begin, id};
            }
            hasCharacter = hasCharacter || length == character;
        });
        const std::size_t end = begin + character;
        if (!hasCharacter && isBetter(end, m_unknownScore + reached)) {
            steps[end] = {m_unknownScore + reached, begin,
                          unknownFor(word.substr(begin, character))};
        }
        begin = end;
    }
    return steps;
}

void UnigramModel::appendPiece(std::string_view piece, std::vector<TokenId>& ids) const {
    if (const auto id = m_vocabulary.find(piece)) {
        ids.push_back(*id);
    } else if (!m_byteTokens.append(piece, ids)) {
        ids.push_back(unknownFor(piece));
    }
}

void UnigramModel::encodeWord(std::string_view word, std::vector<TokenId>& ids) const {
    const std::vector<Step> steps = bestSteps(word);
    std::vector<TextSpan> pieces; // from the end of the word to its start
    bool previousUnknown = false;
    for (std::size_t end = word.size(); end > 0; end = steps[end].begin) {
        const bool unknown = m_unknown == steps[end].id;
        if (unknown && previousUnknown) {
            pieces.back().begin = steps[end].begin;
        } else {
            pieces.push_back({steps[end].begin, end});
        }
        previousUnknown = unknown;
    }
    for (const TextSpan& piece : std::views::reverse(pieces)) {
        appendPiece(word.substr(piece.begin, piece.end - piece.begin), ids);
    }
}

} // namespace ecokv::model
