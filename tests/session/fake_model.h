#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A model without weights for tests of the session: a scripted answer, one byte per token. Records
// the position of every decode step.

#include "model/model.h"

#include <string>
#include <vector>

namespace ecokv::session {

class FakeModel : public model::Model {
public:
    static constexpr TokenId kEnd = 256;

    /// Answers with the bytes of `script`, then the end token.
    explicit FakeModel(std::string script) : m_script(std::move(script)) {}

    const model::ModelInfo& info() const override { return m_info; }
    cache::CacheShape cacheShape() const override { return {1, 1, 2, DType::F32, {}}; }
    DType computeDType() const override { return DType::F32; }
    int threads() const override { return 1; }
    std::vector<TokenId> endTokens() const override { return {kEnd}; }
    model::Prompt prepare(const model::PromptRequest&) const override { return {}; }
    std::vector<TokenId> tokenize(const std::string& text) const override {
        return {text.begin(), text.end()};
    }

    std::vector<float> prefill(const model::Prompt&, cache::KvCache&, model::LayerObserver*,
                               const ProgressSink&, const CancellationToken&,
                               const model::PrefillOptions&) override {
        return logitsFor(0);
    }

    std::vector<float> extend(std::span<const TokenId>, cache::KvCache&, model::LayerObserver*,
                              const ProgressSink&, const CancellationToken&) override {
        m_step = 0; // the script starts again: a new question
        return logitsFor(0);
    }

    std::vector<float> decode(TokenId, cache::KvCache&, const CancellationToken&,
                              model::LayerObserver*) override {
        return logitsFor(++m_step);
    }

    std::string decodeText(const std::vector<TokenId>& ids) const override {
        std::string bytes;
        for (const TokenId id : ids) {
            if (id < kEnd) {
                bytes.push_back(static_cast<char>(id));
            }
        }
        return replaceCutCharacter(bytes);
    }

    std::string tokenText(TokenId id) const override { return decodeText({id}); }

    std::vector<float> logitsFor(std::size_t step) const {
        std::vector<float> logits(257, 0.0F);
        const bool more = step < m_script.size();
        const auto next =
            more ? static_cast<std::size_t>(static_cast<unsigned char>(m_script[step])) : 256U;
        logits[next] = 4.0F;
        return logits;
    }

    std::size_t decodeSteps() const { return m_step; }

private:
    /// A cut multi-byte character at the end becomes U+FFFD, as tokenizers decode it.
    static std::string replaceCutCharacter(const std::string& bytes) {
        std::size_t start = bytes.size();
        while (start > 0 && (static_cast<unsigned char>(bytes[start - 1]) & 0xC0U) == 0x80U) {
            --start;
        }
        if (start == 0) {
            return bytes;
        }
        const auto lead = static_cast<unsigned char>(bytes[start - 1]);
        const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
        return bytes.size() - (start - 1) < length ? bytes.substr(0, start - 1) + "\xEF\xBF\xBD"
                                                   : bytes;
    }

    std::string m_script;
    std::size_t m_step = 0;
    model::ModelInfo m_info;
};

} // namespace ecokv::session
