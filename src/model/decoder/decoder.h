#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The decoder of all families, set up by its DecoderConfig: grouped queries, RMS norms (also of
// heads and behind blocks), gated MLP, optional biases, sliding layers, several rotary settings,
// tied or own head. Works on embeddings, so that pictures can be mixed in before.

#include "base/cancellation.h"
#include "base/progress.h"
#include "cache/kv_cache.h"
#include "model/aten.h"
#include "model/decoder/finite_checks.h"
#include "model/decoder/layer_weights.h"
#include "model/decoder/rotary.h"
#include "model/layers.h"
#include "model/model_config.h"
#include "model/observer.h"
#include "model/weight_loader.h"

#include <span>
#include <string>
#include <vector>

namespace ecokv::model {

/// Features of pictures that the first layers add to the image tokens again (Qwen3-VL).
struct DeepFeatures {
    at::Tensor tokens;              ///< [n] i64, ascending; undefined = none
    std::vector<at::Tensor> layers; ///< [n, hidden] for decoder layers 0, 1, ...

    /// Appends those of one more picture.
    void add(const at::Tensor& moreTokens, const std::vector<at::Tensor>& moreLayers);
};
inline const DeepFeatures kNoDeepFeatures;

/// What a pass through the layers reads and writes besides the hidden states.
struct DecoderPass {
    cache::KvCache& cache;
    const CancellationToken& cancel;
    LayerObserver* observer = nullptr;
    ProgressSink progress = {};
    std::int64_t chunk = 0; ///< rows that a layer of a prefill takes at once; 0 = all
    /// [token] (time, row, column) of a prefill; empty = true positions (M-RoPE, field case F067).
    /// What comes after it goes on where the cache says.
    std::span<const cache::RopePosition> ropePositions = {};
    /// [token] picture of an image token, -1 = none; empty = no pictures.
    std::span<const std::int32_t> imageIndex = {};
    const DeepFeatures& deepstack = kNoDeepFeatures;
};

class PassState;

class Decoder {
public:
    Decoder(const DecoderConfig& config, const DecoderNames& names, WeightLoader& loader,
            const at::TensorOptions& compute);

    /// [token] to [token, hidden]. Throws Error{BadInput} for an id outside the vocabulary.
    at::Tensor embed(std::span<const TokenId> ids) const;
    /// Embeddings [token, hidden] through all layers, filling the empty cache and telling the
    /// observer after each layer. Logits of the last token, [vocabulary]. Writes into `hidden`.
    at::Tensor prefill(at::Tensor hidden, const DecoderPass& pass) const;
    /// Embeddings [token, hidden] at positions cache.tokensSeen() and on, behind what the cache
    /// holds. Logits of the last token, [vocabulary]. A pass that is cancelled leaves the cache
    /// with the tokens in some layers only: clear it.
    at::Tensor extend(at::Tensor hidden, const DecoderPass& pass) const;
    /// Of the final norm and the head, the first whose weights are not finite, in words; or "".
    std::string damagedEnd() const { return damagedPart(m_norm, m_head); }

private:
    struct RowsWanted;
    struct Projected;

    Linear takeHead(const DecoderNames& names, WeightLoader& loader) const;
    at::Tensor split(const at::Tensor& projected, std::int32_t heads) const;
    RowsWanted rowsWanted(std::int32_t index, std::int64_t tokens,
                          const LayerObserver* observer) const;
    Projected project(const LayerWeights& layer, const at::Tensor& hidden,
                      const RotaryTables& tables, std::int64_t queryRows) const;
    /// What the attention of a layer adds to rows: mixed values [row, head * dim] to [row, hidden].
    /// `gates` [row, head * dim] or undefined.
    at::Tensor attentionOut(const LayerWeights& layer, const at::Tensor& mixed,
                            const at::Tensor& gates) const;
    /// Adds what a linear layer gives. Nothing is cached, so the observer hears nothing.
    void prefillLinear(std::int32_t index, at::Tensor& hidden, const PassState& state) const;
    /// Adds the attention of a layer to `hidden`, of which one row is left after the last layer.
    void prefillAttention(std::int32_t index, at::Tensor& hidden, const PassState& state) const;
    at::Tensor extendAttention(std::int32_t index, const at::Tensor& hidden,
                               const PassState& state) const;
    void deliver(LayerId layer, const Projected& rows, std::int64_t window,
                 const PassState& state) const;
    void addMlp(const LayerWeights& layer, at::Tensor& hidden, const DecoderPass& pass) const;
    /// Adds what pictures give to layer `index` once more; `tokens` of the pass.
    void addDeepFeatures(std::int32_t index, at::Tensor& hidden, std::int64_t tokens,
                         const DeepFeatures& deep) const;
    at::Tensor logits(const at::Tensor& lastHidden) const;

    DecoderConfig m_config;
    std::vector<Rotary> m_rotaries; ///< of config.ropes.settings
    at::Tensor m_embedding;         ///< [vocabulary, hidden]
    double m_embeddingScale = 1.0;  ///< rounded to the compute dtype
    std::vector<LayerWeights> m_layers;
    RmsNorm m_norm;
    Linear m_head;
};

} // namespace ecokv::model
