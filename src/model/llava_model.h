#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// LLaVA-1.5 (arXiv 2310.03744): CLIP tower, two-layer projector, Llama decoder. One thread at a
// time; every call sets up LibTorch for the thread it runs on.

#include "model/llama_decoder.h"
#include "model/model.h"
#include "model/model_config.h"
#include "model/projector_mlp.h"
#include "model/prompt_builder.h"
#include "model/vision_tower_clip.h"
#include "model/weights/checkpoint.h"

#include <filesystem>
#include <memory>
#include <optional>

namespace ecokv::model {

class LlavaModel final : public Model {
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
    /// What was read before the weights.
    struct Files;
    LlavaModel(Files files, const LoadOptions& options);

    void loadWeights(const LoadOptions& options);
    /// A row of the embedding that no token of the tokenizer names: vocabularies are often padded.
    bool isUnused(TokenId id) const;
    void checkCache(const cache::KvCache& cache) const;
    /// Features of one picture, [imageToken, hidden]; `step` is called after each tower layer.
    at::Tensor encodePicture(const Prompt& prompt, std::size_t picture,
                             const std::function<void()>& step) const;
    void mixInPictures(const Prompt& prompt, at::Tensor& hidden, const ProgressSink& progress,
                       const CancellationToken& cancel) const;

    ModelConfig m_config;
    Checkpoint m_checkpoint; ///< owns the mapping that weights may point into
    PromptBuilder m_promptBuilder;
    ModelInfo m_info;
    std::vector<TokenId> m_endTokens;
    Device m_device;
    DType m_dtype = DType::F32;
    int m_threads = 1;
    std::optional<ClipVisionTower> m_tower;
    std::optional<ProjectorMlp> m_projector;
    std::optional<LlamaDecoder> m_decoder;
};

} // namespace ecokv::model
