// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/tokenizer.h"

#include "base/error.h"
#include "model/json_file.h"
#include "model/text/added_tokens.h"
#include "model/text/decoder.h"
#include "model/text/json_scanner.h"
#include "model/text/models/token_model.h"
#include "model/text/named_tokens.h"
#include "model/text/post_processor.h"
#include "model/text/pre_tokenizer.h"
#include "model/text/tokenizer_file.h"
#include "model/text/utf8.h"

#include <algorithm>

#include <fmt/format.h>

namespace ecokv::model {

struct Tokenizer::Data {
    std::string origin;
    Normalizer normalizer;
    AddedTokens added;
    PreTokenizer preTokenizer;
    std::unique_ptr<const TokenModel> model;
    PostProcessor postProcessor;
    Decoder decoder;
};

namespace {

void refuseMissingByteLevel(const JsonObject& root, const Normalizer& normalizer,
                            const PreTokenizer& preTokenizer, const Decoder& decoder) {
    if (decoder.readsByteAlphabet() && !preTokenizer.writesByteAlphabet() &&
        !normalizer.writesByteAlphabet()) {
        throwBadInput(fmt::format("{}: the decoder reads the byte alphabet, but neither normalizer "
                                  "nor pre_tokenizer writes it (no ByteLevel part).",
                                  root.origin()),
                      "The rule that cuts text into words is missing; get the complete file.");
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
    auto data = read(readTextFile(path), path.string());
    data->added.add(namedTokens(folder, data->added.all()), data->model->vocabulary());
    return finish(std::move(data));
}

Tokenizer Tokenizer::fromJson(std::string_view tokenizerJson, const std::string& origin) {
    return finish(read(tokenizerJson, origin));
}

Tokenizer Tokenizer::finish(std::unique_ptr<Data> data) {
    data->added.prepare(data->normalizer);
    return Tokenizer(std::move(data));
}

std::unique_ptr<Tokenizer::Data> Tokenizer::read(std::string_view tokenizerJson,
                                                 const std::string& origin) {
    const TokenizerFile file = TokenizerFile::parse(tokenizerJson, origin);
    const JsonObject root(file.json, origin);
    auto data = std::make_unique<Data>();
    data->origin = origin;
    data->normalizer = Normalizer::fromJson(root.find("normalizer"), origin);
    data->preTokenizer = PreTokenizer::fromJson(root.find("pre_tokenizer"), origin);
    data->postProcessor = PostProcessor::fromJson(root.find("post_processor"), origin);
    data->decoder = Decoder::fromJson(root.find("decoder"), origin);
    data->added = AddedTokens(AddedTokens::listOf(root));
    refuseMissingByteLevel(root, data->normalizer, data->preTokenizer, data->decoder);
    try {
        data->model = readTokenModel(root.object("model"), file);
    } catch (const JsonScanner::SyntaxError&) {
        parseJson(tokenizerJson, origin); // which knows the line
        throwBadInput(fmt::format("{}: model.vocab or model.merges hold something else than "
                                  "tokens.",
                                  origin),
                      "Download the file again.");
    }
    return data;
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, bool addSpecialTokens) const {
    std::vector<TokenId> ids;
    for (TextPiece& piece : m_data->added.split(sanitizeUtf8(text), m_data->normalizer)) {
        if (piece.token) {
            ids.push_back(*piece.token);
            continue;
        }
        for (const Word& word : m_data->preTokenizer.split(std::move(piece.word))) {
            m_data->model->encodeWord(word.text, ids);
        }
    }
    return addSpecialTokens ? m_data->postProcessor.addSpecialTokens(std::move(ids)) : ids;
}

std::vector<std::string> Tokenizer::tokensOf(const std::vector<TokenId>& ids,
                                             bool skipSpecial) const {
    std::vector<std::string> tokens;
    tokens.reserve(ids.size());
    for (const TokenId id : ids) {
        if (!(skipSpecial && isSpecial(id))) {
            tokens.push_back(tokenString(id));
        }
    }
    return tokens;
}

std::string Tokenizer::decode(const std::vector<TokenId>& ids, bool skipSpecialTokens) const {
    return m_data->decoder.decode(tokensOf(ids, skipSpecialTokens));
}

std::string Tokenizer::decodeFollowing(const std::vector<TokenId>& ids,
                                       bool skipSpecialTokens) const {
    return m_data->decoder.decodeFollowing(tokensOf(ids, skipSpecialTokens));
}

std::string Tokenizer::tokenBytes(TokenId id) const {
    return m_data->decoder.bytesOf(tokenString(id));
}

std::optional<TokenId> Tokenizer::find(std::string_view token) const {
    const auto added = m_data->added.find(token);
    return added ? added : m_data->model->vocabulary().find(token);
}

std::string Tokenizer::tokenString(TokenId id) const {
    if (const AddedToken* added = m_data->added.find(id)) {
        return added->content;
    }
    if (!m_data->model->vocabulary().knows(id)) {
        throwBadInput(fmt::format("Token id {} is not in the vocabulary of {} ({} ids).", id,
                                  m_data->origin, size()),
                      "The tokenizer may belong to another model: download tokenizer.json and "
                      "config.json from the same place.");
    }
    return std::string(m_data->model->vocabulary().token(id));
}

bool Tokenizer::knows(TokenId id) const {
    return m_data->added.find(id) != nullptr || m_data->model->vocabulary().knows(id);
}

bool Tokenizer::isSpecial(TokenId id) const {
    const AddedToken* added = m_data->added.find(id);
    return added != nullptr && added->special;
}

bool Tokenizer::isAdded(TokenId id) const {
    return m_data->added.find(id) != nullptr;
}

std::int32_t Tokenizer::size() const {
    return std::max(m_data->added.idEnd(), m_data->model->vocabulary().idEnd());
}

const std::string& Tokenizer::origin() const {
    return m_data->origin;
}

} // namespace ecokv::model
