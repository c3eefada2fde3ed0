#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// How others see inside a prefill: the model asks first which tensors are wanted, then delivers
// them once per layer, right after that layer's keys and values entered the cache. Called on the
// thread that runs the model; views die when the call returns.

#include "base/ids.h"
#include "base/tensor_view.h"

#include <cstdint>
#include <span>

namespace ecokv::model {

struct LayerTensors {
    LayerId layer;
    TensorView keys;          ///< [kvHead, token, dim] after RoPE, model dtype and device
    TensorView values;        ///< [kvHead, token, dim]
    TensorView windowQueries; ///< [head, row, dim] after RoPE, the last `windowRows` rows
    std::span<const std::int64_t> positions;       ///< [token]
    std::span<const std::int64_t> windowPositions; ///< [row]
};

class LayerObserver {
public:
    virtual ~LayerObserver() = default;

    /// How many of the last query rows `layer` should deliver; clamped to the prompt length.
    virtual std::int64_t windowRows(LayerId layer) const = 0;
    /// The layer's keys and values are in the cache; the observer may evict them now.
    virtual void layerPrefilled(const LayerTensors& tensors) = 0;
};

} // namespace ecokv::model
