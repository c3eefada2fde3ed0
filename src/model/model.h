#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// An opened multimodal model: prepares prompts, runs prefill and decode through LibTorch against a
// KvCache. One thread at a time; Torch types stay out of this header.

#include "base/cancellation.h"
#include "base/progress.h"
#include "cache/kv_cache.h"
#include "model/model_info.h"
#include "model/observer.h"
#include "model/prompt.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ecokv::model {

class Model;

enum class ComputeDType : std::uint8_t { Auto, F32, BF16 };

struct LoadOptions {
    Device device;
    ComputeDType dtype = ComputeDType::Auto; ///< Auto: f32 on CPU for small models, else as stored
    int threads = 0;                         ///< 0 = one for small models, else all cores
    ProgressSink progress;
    CancellationToken cancel;
    /// Called before the first weight is read, with a model that does all but prefill, extend and
    /// decode; what it throws ends the opening.
    std::function<void(Model&)> beforeWeights;
};

struct PrefillOptions {
    /// Tokens that a layer takes at once; 0 = all. Bounds what a layer needs besides its keys and
    /// values; the result is the same but for rounding.
    std::int64_t chunk = 0;
};

/// Reads config, headers and processor files, no weights. Throws Error{BadInput}.
ModelInfo describeModel(const std::filesystem::path& folder);

class Model {
public:
    /// Opens a Hugging Face folder. Throws Error{BadInput} naming files, tensors and advice.
    static std::unique_ptr<Model> open(const std::filesystem::path& folder,
                                       const LoadOptions& options);
    virtual ~Model() = default;

    virtual const ModelInfo& info() const = 0;
    virtual cache::CacheShape cacheShape() const = 0;
    virtual DType computeDType() const = 0;
    virtual int threads() const = 0; ///< LibTorch runs on
    virtual std::vector<TokenId> endTokens() const = 0;

    virtual Prompt prepare(const PromptRequest& request) const = 0;
    /// Ids of text that goes on behind a prompt; nothing is added. Throws Error{BadInput} for
    /// picture markers.
    virtual std::vector<TokenId> tokenize(const std::string& text) const = 0;
    /// Vision tower, projector and the whole prompt; fills `cache` (which must be empty) layer by
    /// layer and calls `observer` after each. Returns the logits of the last token [vocabulary]
    /// f32.
    virtual std::vector<float> prefill(const Prompt& prompt, cache::KvCache& cache,
                                       LayerObserver* observer, const ProgressSink& progress,
                                       const CancellationToken& cancel,
                                       const PrefillOptions& options = {}) = 0;
    /// Text tokens at true positions `cache.tokensSeen()` and on, behind whatever the cache holds:
    /// nothing, a prompt, or what an eviction kept of one, ragged across heads or not. They see
    /// every cached key and, causally, each other (field cases F017, F019). Appends them and calls
    /// `observer` after each layer with the new rows only. Logits of the last token [vocabulary].
    /// A call that is cancelled leaves the tokens in some layers only: clear the cache.
    virtual std::vector<float> extend(std::span<const TokenId> tokens, cache::KvCache& cache,
                                      LayerObserver* observer, const ProgressSink& progress,
                                      const CancellationToken& cancel) = 0;
    /// `extend` by one generated token. Logits [vocabulary].
    virtual std::vector<float> decode(TokenId token, cache::KvCache& cache,
                                      const CancellationToken& cancel,
                                      LayerObserver* observer = nullptr) = 0;

    /// Text of the ids, special tokens skipped. Ids of the model's vocabulary that the tokenizer
    /// does not know can be sampled and are no text, as in `transformers`; other ids throw.
    virtual std::string decodeText(const std::vector<TokenId>& ids) const = 0;
    /// Text of one token alone, as shown in token lists. Where it has none: "", since readers of
    /// traces join these texts to an answer.
    virtual std::string tokenText(TokenId id) const = 0;
};

/// Greedy (temperature 0) or sampled; seeded and portable.
struct SamplingParams {
    double temperature = 0.0; ///< 0 = greedy, ties to the lower id
    int topK = 0;             ///< 0 = off
    double topP = 1.0;
    std::uint64_t seed = 0;
};

class Sampler {
public:
    explicit Sampler(const SamplingParams& params);
    TokenId next(const std::vector<float>& logits);

private:
    SamplingParams m_params;
    std::uint64_t m_state;
};

} // namespace ecokv::model
