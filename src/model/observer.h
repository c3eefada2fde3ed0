#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// How others see inside a prefill, an extension or a decoding step: the model asks first which
// tensors are wanted, then delivers them once per layer, when that layer's keys and values are in
// the cache and its attention is done. Called on the thread that runs the model. Views die when the
// call returns or, since keys and values may be the cache's own rows, when the layer is evicted.

#include "base/ids.h"
#include "base/tensor_view.h"

#include <array>
#include <cstdint>
#include <span>

namespace ecokv::model {

/// Of the tokens of this call only: a prefill's whole prompt, the tokens of an extension, or the
/// one token of a decoding step. What was cached before is read from the cache.
struct LayerTensors {
    LayerId layer;
    TensorView keys;          ///< [kvHead, token, dim] after RoPE, model dtype and device
    TensorView values;        ///< [kvHead, token, dim]
    TensorView windowQueries; ///< [head, row, dim] after RoPE, the last `windowRows` rows
    std::span<const std::int64_t> positions;       ///< [token]
    std::span<const std::int64_t> windowPositions; ///< [row]
    /// [token] what the keys were rotated by: time, row, column (M-RoPE). Empty = `positions`.
    std::span<const std::array<std::int32_t, 3>> ropePositions = {};
};

class LayerObserver {
public:
    virtual ~LayerObserver() = default;

    /// How many of the last query rows `layer` should deliver; clamped to the tokens of the call.
    virtual std::int64_t windowRows(LayerId layer) const = 0;
    /// The layer's keys and values are in the cache; the observer may evict them now.
    virtual void layerPrefilled(const LayerTensors& tensors) = 0;
};

} // namespace ecokv::model
