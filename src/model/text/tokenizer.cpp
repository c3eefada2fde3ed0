// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/tokenizer.h"

#include "base/error.h"
#include "model/json_file.h"
#include "model/text/added_tokens.h"
#include "model/text/bpe_model.h"
#include "model/text/byte_alphabet.h"
#include "model/text/post_processor.h"
#include "model/text/pre_tokenizer.h"
#include "model/text/utf8.h"

#include <unordered_set>

#include <fmt/format.h>

namespace ecokv::model {

struct Tokenizer::Data {
    std::string origin;
    Normalizer normalizer;
    AddedTokens added;
    PreTokenizer preTokenizer;
    BpeModel model;
    PostProcessor postProcessor;
    std::unordered_map<std::string, TokenId> addedByContent;
    std::vector<std::string> tokenStrings; ///< by id, "" = no such id
    std::vector<bool> known, special;      ///< by id
};

namespace {

/// ByteLevel alone, or inside a sequence of nothing else.
void requireByteLevelDecoder(const Json* node, const std::string& origin) {
    if (node == nullptr) {
        throwBadInput(fmt::format("{} has no decoder.", origin),
                      "Byte-level tokenizers have a ByteLevel decoder.");
    }
    const JsonObject decoder(*node, origin, "decoder");
    const std::string type = decoder.string("type", "");
    const Json* parts = decoder.find("decoders");
    if (type == "Sequence" && parts != nullptr && parts->size() == 1) {
        requireByteLevelDecoder(&parts->front(), origin);
    } else if (type != "ByteLevel") {
        throwBadInput(fmt::format("{}: the decoder \"{}\" is not supported yet.", origin, type),
                      "Supported is ByteLevel.");
    }
}

[[noreturn]] void throwNoTokenizer(const std::filesystem::path& folder) {
    const bool sentencePiece = std::filesystem::exists(folder / "tokenizer.model");
    throwBadInput(fmt::format("{} has no tokenizer.json{}.", folder.string(),
                              sentencePiece ? ", only a SentencePiece tokenizer.model" : ""),
                  "Save the tokenizer in its fast form: "
                  "`AutoTokenizer.from_pretrained(folder).save_pretrained(folder)`.");
}

} // namespace

Tokenizer::Tokenizer(std::unique_ptr<const Data> data) : m_data(std::move(data)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Tokenizer Tokenizer::open(const std::filesystem::path& folder) {
    const auto path = folder / "tokenizer.json";
    if (!std::filesystem::exists(path)) {
        throwNoTokenizer(folder);
    }
    return fromJson(readTextFile(path), path.string());
}

Tokenizer Tokenizer::fromJson(std::string_view tokenizerJson, const std::string& origin) {
    const Json json = parseJson(tokenizerJson, origin);
    const JsonObject root(json, origin);
    auto data = std::make_unique<Data>();
    data->origin = origin;
    data->normalizer = Normalizer::fromJson(root.find("normalizer"), origin);
    data->preTokenizer = PreTokenizer::fromJson(root.find("pre_tokenizer"), origin);
    data->model = BpeModel::fromJson(root.object("model"));
    data->postProcessor = PostProcessor::fromJson(root.find("post_processor"), origin);
    data->added = AddedTokens::fromJson(root, data->normalizer);
    requireByteLevelDecoder(root.find("decoder"), origin);

    const auto enter = [&](TokenId id, const std::string& text, bool special) {
        const auto index = static_cast<std::size_t>(id);
        if (index >= data->tokenStrings.size()) {
            constexpr std::size_t kMaxVocabulary = 16'000'000; // a wild id must not eat the memory
            if (index >= kMaxVocabulary) {
                throwBadInput(fmt::format("{}: token \"{}\" has the id {}.", origin, text, id));
            }
            data->tokenStrings.resize(index + 1);
            data->known.resize(index + 1);
            data->special.resize(index + 1);
        }
        data->tokenStrings[index] = text;
        data->known[index] = true;
        data->special[index] = special;
    };
    for (const auto& [text, id] : data->model.vocabulary()) {
        enter(id, text, false);
    }
    for (const AddedToken& token : data->added.all()) {
        enter(token.id, token.content, token.special);
        data->addedByContent.emplace(token.content, token.id);
    }
    return Tokenizer(std::move(data));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, bool addSpecialTokens) const {
    std::vector<TokenId> ids;
    for (const TextPiece& piece : m_data->added.split(sanitizeUtf8(text), m_data->normalizer)) {
        if (piece.token) {
            ids.push_back(*piece.token);
            continue;
        }
        for (const std::string& word : m_data->preTokenizer.split(piece.text)) {
            m_data->model.encodeWord(word, ids);
        }
    }
    return addSpecialTokens ? m_data->postProcessor.addSpecialTokens(std::move(ids)) : ids;
}

std::string Tokenizer::decode(const std::vector<TokenId>& ids, bool skipSpecialTokens) const {
    std::string bytes;
    for (const TokenId id : ids) {
        if (!(skipSpecialTokens && isSpecial(id))) {
            bytes += tokenBytes(id);
        }
    }
    return sanitizeUtf8(bytes);
}

std::string Tokenizer::tokenBytes(TokenId id) const {
    std::string text = tokenString(id);
    auto bytes = alphabetToBytes(text);
    return bytes ? *std::move(bytes) : text;
}

std::optional<TokenId> Tokenizer::find(std::string_view token) const {
    const auto added = m_data->addedByContent.find(std::string(token));
    return added != m_data->addedByContent.end() ? added->second : m_data->model.find(token);
}

std::string Tokenizer::tokenString(TokenId id) const {
    if (!knows(id)) {
        throwBadInput(fmt::format("Token id {} is not in the vocabulary of {} ({} ids).", id,
                                  m_data->origin, size()),
                      "The tokenizer may belong to another model.");
    }
    return m_data->tokenStrings[static_cast<std::size_t>(id)];
}

bool Tokenizer::knows(TokenId id) const {
    return id >= 0 && id < size() && m_data->known[static_cast<std::size_t>(id)];
}

bool Tokenizer::isSpecial(TokenId id) const {
    return id >= 0 && id < size() && m_data->special[static_cast<std::size_t>(id)];
}

std::int32_t Tokenizer::size() const {
    return static_cast<std::int32_t>(m_data->tokenStrings.size());
}

const std::string& Tokenizer::origin() const {
    return m_data->origin;
}

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skipSpecialTokens)
    : m_tokenizer(tokenizer), m_skipSpecial(skipSpecialTokens) {}

std::string StreamDecoder::push(TokenId id) {
    if (m_skipSpecial && m_tokenizer.isSpecial(id)) {
        return {};
    }
    m_pending += m_tokenizer.tokenBytes(id);
    std::size_t complete = 0;
    while (complete < m_pending.size()) {
        const Utf8Char c = utf8At(m_pending, complete);
        if (c.incomplete) {
            break;
        }
        complete += c.length;
    }
    std::string text = sanitizeUtf8(std::string_view(m_pending).substr(0, complete));
    m_pending.erase(0, complete);
    return text;
}

std::string StreamDecoder::finish() {
    std::string text = sanitizeUtf8(m_pending);
    m_pending.clear();
    return text;
}

} // namespace ecokv::model
