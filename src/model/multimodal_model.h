#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A model of any family: the family's tower in front of the shared decoder. One thread at a time;
// every call sets up LibTorch for the thread it runs on.

#include "model/decoder/decoder.h"
#include "model/families/family.h"
#include "model/model.h"
#include "model/prompt_builder.h"
#include "model/vision/vision_encoder.h"
#include "model/weights/checkpoint.h"

#include <filesystem>
#include <memory>
#include <optional>

namespace ecokv::model {

class MultimodalModel final : public Model {
public:
    static std::unique_ptr<Model> open(const std::filesystem::path& folder,
                                       const LoadOptions& options);

    const ModelInfo& info() const override { return m_info; }
    cache::CacheShape cacheShape() const override;
    DType computeDType() const override { return m_dtype; }
    int threads() const override { return m_threads; }
    std::vector<TokenId> endTokens() const override { return m_endTokens; }

    Prompt prepare(const PromptRequest& request) const override;
    std::vector<TokenId> tokenize(const std::string& text) const override;
    std::vector<float> prefill(const Prompt& prompt, cache::KvCache& cache, LayerObserver* observer,
                               const ProgressSink& progress, const CancellationToken& cancel,
                               const PrefillOptions& options) override;
    std::vector<float> extend(std::span<const TokenId> tokens, cache::KvCache& cache,
                              LayerObserver* observer, const ProgressSink& progress,
                              const CancellationToken& cancel) override;
    std::vector<float> decode(TokenId token, cache::KvCache& cache, const CancellationToken& cancel,
                              LayerObserver* observer) override;

    std::string decodeText(const std::vector<TokenId>& ids) const override;
    std::string tokenText(TokenId id) const override;

private:
    const DecoderConfig& decoderConfig() const { return m_family->config().decoder; }
    /// What was read before the weights.
    struct Files;
    MultimodalModel(Files files, const LoadOptions& options);

    void loadWeights(const LoadOptions& options);
    /// A row of the embedding that no token of the tokenizer names: vocabularies are often padded.
    bool isUnused(TokenId id) const;
    void checkCache(const cache::KvCache& cache) const;
    VisionFeatures encodePicture(const PictureInput& input,
                                 const std::function<void()>& step) const;
    /// Writes the pictures' features over the embeddings of the image tokens.
    DeepFeatures mixInPictures(const Prompt& prompt, at::Tensor& hidden,
                               const ProgressSink& progress, const CancellationToken& cancel) const;

    std::unique_ptr<const Family> m_family;
    Checkpoint m_checkpoint; ///< owns the mapping that weights may point into
    PromptBuilder m_promptBuilder;
    ModelInfo m_info;
    std::vector<TokenId> m_endTokens;
    Device m_device;
    DType m_dtype = DType::F32;
    int m_threads = 1;
    std::unique_ptr<const VisionEncoder> m_vision; ///< null = text only
    std::optional<Decoder> m_decoder;
};

} // namespace ecokv::model
