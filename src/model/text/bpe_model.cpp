// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/bpe_model.h"

#include "base/error.h"
#include "model/text/byte_alphabet.h"
#include "model/text/utf8.h"

#include <limits>
#include <queue>

#include <fmt/format.h>

namespace ecokv::model {

/// A piece of a word while it is merged; a doubly linked list inside a vector.
struct BpeModel::Symbol {
    TokenId id = 0;
    std::int32_t previous = -1, next = -1;
    bool alive = true;
};

struct BpeModel::Candidate {
    std::int32_t rank = 0;
    std::int32_t at = 0; ///< index of the left symbol
    TokenId result = 0;

    /// The queue's top is the lowest rank, and the leftmost among equals.
    bool operator<(const Candidate& other) const {
        return std::pair(rank, at) > std::pair(other.rank, other.at);
    }
};

namespace {

std::uint64_t pairKey(TokenId left, TokenId right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
           static_cast<std::uint32_t>(right);
}

void refuseUnsupported(const JsonObject& model) {
    const std::string type = model.string("type", "BPE"); // old files do not name it
    if (type != "BPE") {
        throwBadInput(fmt::format("{} = \"{}\" is not supported yet.", model.where("type"), type),
                      "Supported are byte-level BPE tokenizers.");
    }
    if (model.boolean("byte_fallback", false)) {
        throwBadInput(fmt::format("{} is true: SentencePiece-style tokenizers are not supported "
                                  "yet.",
                                  model.where("byte_fallback")),
                      "Supported are byte-level BPE tokenizers.");
    }
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
        if (!model.string(key, "").empty()) {
            throwBadInput(fmt::format("{} = \"{}\" is not supported.", model.where(key),
                                      model.string(key, "")));
        }
    }
    if (model.number("dropout", 0.0) != 0.0) {
        throwBadInput(
            fmt::format("{}: random merges are for training only.", model.where("dropout")),
            "Set it to null.");
    }
}

bool isOneCharacter(const std::string& token) {
    return !token.empty() && utf8At(token, 0).length == token.size();
}

} // namespace

BpeModel BpeModel::fromJson(const JsonObject& model) {
    refuseUnsupported(model);
    BpeModel bpe;
    bpe.m_origin = model.origin();
    bpe.m_ignoreMerges = model.boolean("ignore_merges", false);
    bpe.m_fuseUnknown = model.boolean("fuse_unk", false);
    bpe.readVocabulary(model);
    bpe.readMerges(model);
    if (const auto unknown = model.findString("unk_token")) {
        bpe.m_unknown = bpe.find(*unknown);
    }
    return bpe;
}

void BpeModel::readVocabulary(const JsonObject& model) {
    const JsonObject vocabulary = model.object("vocab");
    m_vocabulary.reserve(vocabulary.raw().size());
    for (const auto& [token, id] : vocabulary.raw().items()) {
        if (!id.is_number_unsigned() ||
            id.get<std::uint64_t>() > std::numeric_limits<TokenId>::max()) {
            throwBadInput(fmt::format("{}: token \"{}\" has the id {}, which is not one.",
                                      model.where("vocab"), token, id.dump()));
        }
        m_vocabulary.emplace(token, id.get<TokenId>());
    }
}

void BpeModel::readMerges(const JsonObject& model) {
    const Json* merges = model.find("merges");
    if (merges == nullptr || !merges->is_array()) {
        throwBadInput(fmt::format("{} must be a list.", model.where("merges")));
    }
    for (const Json& merge : *merges) {
        if (merge.is_string()) {
            addMerge(splitMerge(merge.get<std::string>(), model), model);
        } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
                   merge[1].is_string()) {
            addMerge({merge[0].get<std::string>(), merge[1].get<std::string>()}, model);
        } else {
            throwBadInput(fmt::format("{}: {} is neither a string nor a pair of strings.",
                                      model.where("merges"), merge.dump()));
        }
    }
    if (!m_merges.empty() || m_ignoreMerges) {
        return;
    }
    for (const auto& [token, id] : m_vocabulary) { // a byte tokenizer needs no merges
        if (!isOneCharacter(token) && alphabetToBytes(token)) {
            throwBadInput(fmt::format("{} is empty, but the vocabulary has tokens of several "
                                      "bytes (\"{}\").",
                                      model.where("merges"), token),
                          "Every text would fall apart into bytes; get the complete file.");
        }
    }
}

std::pair<std::string, std::string> BpeModel::splitMerge(const std::string& text,
                                                         const JsonObject& model) const {
    std::vector<std::pair<std::string, std::string>> found;
    for (std::size_t at = text.find(' '); at != std::string::npos; at = text.find(' ', at + 1)) {
        std::pair parts{text.substr(0, at), text.substr(at + 1)};
        if (m_vocabulary.contains(parts.first) && m_vocabulary.contains(parts.second) &&
            m_vocabulary.contains(parts.first + parts.second)) {
            found.push_back(std::move(parts));
        }
    }
    if (found.size() != 1) {
        throwBadInput(fmt::format("{}: \"{}\" can be read as a merge in {} ways.",
                                  model.where("merges"), text, found.size()),
                      found.empty() ? "Its parts are not in the vocabulary."
                                    : "Write the merges as pairs.");
    }
    return found.front();
}

void BpeModel::addMerge(const std::pair<std::string, std::string>& parts, const JsonObject& model) {
    const auto left = find(parts.first);
    const auto right = find(parts.second);
    const auto result = find(parts.first + parts.second);
    if (!left || !right || !result) {
        throwBadInput(fmt::format("{}: the merge of \"{}\" and \"{}\" names a token that is not in "
                                  "the vocabulary.",
                                  model.where("merges"), parts.first, parts.second));
    }
    const auto rank = static_cast<std::int32_t>(m_merges.size());
    m_merges.insert_or_assign(pairKey(*left, *right), Merge{rank, *result});
}

std::optional<TokenId> BpeModel::find(std::string_view token) const {
    const auto found = m_vocabulary.find(std::string(token));
    return found == m_vocabulary.end() ? std::nullopt : std::optional(found->second);
}

const BpeModel::Merge* BpeModel::findMerge(TokenId left, TokenId right) const {
    const auto found = m_merges.find(pairKey(left, right));
    return found == m_merges.end() ? nullptr : &found->second;
}

std::vector<BpeModel::Symbol> BpeModel::symbolsOf(std::string_view word) const {
    std::vector<Symbol> symbols;
    bool previousUnknown = false;
    for (std::size_t i = 0; i < word.size();) {
        const std::size_t length = utf8At(word, i).length;
        const auto id = find(word.substr(i, length));
        if (!id && !m_unknown) {
            throwBadInput(fmt::format("{} has no token for the byte written \"{}\" and no unknown "
                                      "token.",
                                      m_origin, word.substr(i, length)),
                          "The vocabulary is incomplete.");
        }
        if (id || !(m_fuseUnknown && previousUnknown)) {
            symbols.push_back({id ? *id : *m_unknown, -1, -1, true});
        }
        previousUnknown = !id;
        i += length;
    }
    const auto count = static_cast<std::int32_t>(symbols.size());
    for (std::int32_t i = 0; i < count; ++i) {
        symbols[i].previous = i - 1;
        symbols[i].next = i + 1 < count ? i + 1 : -1;
    }
    return symbols;
}

/// Applies the lowest-ranked merge, leftmost first, until none is left.
void BpeModel::merge(std::vector<Symbol>& symbols) const {
    std::priority_queue<Candidate> queue;
    const auto offer = [&](std::int32_t at) {
        if (at < 0 || symbols[at].next < 0) {
            return;
        }
        if (const Merge* m = findMerge(symbols[at].id, symbols[symbols[at].next].id)) {
            queue.push({m->rank, at, m->result});
        }
    };
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(symbols.size()); ++i) {
        offer(i);
    }
    while (!queue.empty()) {
        const Candidate top = queue.top();
        queue.pop();
        Symbol& left = symbols[top.at];
        if (!left.alive || left.next < 0) {
            continue;
        }
        Symbol& right = symbols[left.next];
        const Merge* m = findMerge(left.id, right.id);
        if (m == nullptr || m->result != top.result) {
            continue; // one of the two was merged meanwhile
        }
        left.id = top.result;
        right.alive = false;
        left.next = right.next;
        if (right.next >= 0) {
            symbols[right.next].previous = top.at;
        }
        offer(left.previous);
        offer(top.at);
    }
}

void BpeModel::encodeWord(std::string_view word, std::vector<TokenId>& ids) const {
    if (m_ignoreMerges) {
        if (const auto whole = find(word)) {
            ids.push_back(*whole);
            return;
        }
    }
    std::vector<Symbol> symbols = symbolsOf(word);
    merge(symbols);
    for (const Symbol& symbol : symbols) {
        if (symbol.alive) {
            ids.push_back(symbol.id);
        }
    }
}

} // namespace ecokv::model
