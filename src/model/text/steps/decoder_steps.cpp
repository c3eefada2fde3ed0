// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/steps/decoder_steps.h"

#include "base/error.h"
#include "model/file_advice.h"
#include "model/text/byte_alphabet.h"
#include "model/text/models/byte_tokens.h"
#include "model/text/steps/metaspace.h"
#include "model/text/steps/replacement.h"
#include "model/text/utf8.h"

#include <fmt/format.h>

namespace ecokv::model {

namespace {

using Step = Decoder::Step;
using Tokens = std::vector<std::string>;

void join(Tokens& tokens, std::string_view separator) {
    std::string text;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        text.append(i == 0 ? "" : separator).append(tokens[i]);
    }
    tokens.assign(1, std::move(text));
}

class Joiner : public Step {
public:
    explicit Joiner(std::string_view separator) : m_separator(separator) {}
    void apply(Tokens& tokens) const override { join(tokens, m_separator); }

private:
    std::string_view m_separator; ///< a literal
};

class ByteLevelDecoder : public Step {
public:
    void apply(Tokens& tokens) const override {
        for (std::string& token : tokens) {
            token = *bytesOf(token);
        }
        join(tokens, "");
        tokens.front() = sanitizeUtf8(tokens.front());
    }

    /// Tokens with other characters (added ones) stand for themselves.
    std::optional<std::string> bytesOf(const std::string& token) const override {
        auto bytes = alphabetToBytes(token);
        return bytes ? *std::move(bytes) : token;
    }

    bool readsByteAlphabet() const override { return true; }
};

/// Each row of byte tokens becomes the text it spells, or one U+FFFD per byte if it spells none.
class ByteFallbackDecoder : public Step {
public:
    void apply(Tokens& tokens) const override {
        Tokens result;
        std::string bytes;
        const auto flush = [&] {
            if (isValidUtf8(bytes)) {
                result.push_back(bytes);
            } else {
                result.insert(result.end(), bytes.size(), "\ufffd");
            }
            bytes.clear();
        };
        for (std::string& token : tokens) {
            if (const auto byte = byteOfToken(token)) {
                bytes += *byte;
                continue;
            }
            if (!bytes.empty()) {
                flush();
            }
            result.push_back(std::move(token));
        }
        if (!bytes.empty()) {
            flush();
        }
        tokens = std::move(result);
    }

    std::optional<std::string> bytesOf(const std::string& token) const override {
        const auto byte = byteOfToken(token);
        return byte ? std::optional(std::string(1, *byte)) : std::nullopt;
    }
};

class ReplaceDecoder : public Step {
public:
    explicit ReplaceDecoder(Replacement replacement) : m_replacement(std::move(replacement)) {}

    void apply(Tokens& tokens) const override {
        for (std::string& token : tokens) {
            token = m_replacement.apply(token);
        }
    }

private:
    Replacement m_replacement;
};

/// Takes at most `count` characters equal to `content` from the front of each token.
class StripDecoder : public Step {
public:
    StripDecoder(std::string content, std::size_t count)
        : m_content(std::move(content)), m_count(count) {}

    void apply(Tokens& tokens) const override {
        for (std::string& token : tokens) {
            std::size_t begin = 0;
            for (std::size_t i = 0; i < m_count; ++i) {
                if (token.compare(begin, m_content.size(), m_content) != 0) {
                    break;
                }
                begin += m_content.size();
            }
            token.erase(0, begin);
        }
    }

private:
    std::string m_content;
    std::size_t m_count;
};

std::shared_ptr<const Step> makeStrip(const JsonObject& step) {
    const std::string content = step.string("content", "");
    const std::int64_t start = step.integer("start", 0);
    if (content.empty() || utf8At(content, 0).length != content.size() || start < 0) {
        throwBadInput(fmt::format("{}: the decoder Strip takes one character and a count, not "
                                  "\"{}\" and {}.",
                                  step.origin(), content, start),
                      kTokenizerAdvice);
    }
    if (step.integer("stop", 0) != 0) {
        throwBadInput(fmt::format("{} is not 0: a decoder that strips the end of the text is not "
                                  "supported.",
                                  step.where("stop")),
                      "A text that is still being written has no end; check that tokenizer.json "
                      "belongs to the model.");
    }
    return std::make_shared<StripDecoder>(content, static_cast<std::size_t>(start));
}

} // namespace

std::shared_ptr<const Step> makeSpaceJoiner() {
    return std::make_shared<Joiner>(" ");
}

std::shared_ptr<const Step> makeDecoderStep(const JsonObject& step) {
    const std::string type = step.string("type", "");
    if (type == "ByteLevel") {
        return std::make_shared<ByteLevelDecoder>();
    }
    if (type == "ByteFallback") {
        return std::make_shared<ByteFallbackDecoder>();
    }
    if (type == "Fuse") {
        return std::make_shared<Joiner>("");
    }
    if (type == "Replace") {
        return std::make_shared<ReplaceDecoder>(Replacement::fromJson(step));
    }
    if (type == "Strip") {
        return makeStrip(step);
    }
    if (type == "Metaspace") {
        return std::make_shared<MetaspaceDecoder>(Metaspace::fromJson(step));
    }
    throwBadInput(fmt::format("{}: the decoder \"{}\" is not supported.", step.origin(), type),
                  "Supported are ByteLevel, ByteFallback, Fuse, Replace, Strip, Metaspace and "
                  "sequences.");
}

} // namespace ecokv::model
