#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A linear layer of Qwen3.5: gated delta net (arXiv 2412.06464) behind a short convolution. It
// keeps a state of fixed size in place of keys and values, so there is nothing to evict. One thread
// at a time.

#include "cache/kv_cache.h"
#include "model/layers.h"
#include "model/weight_loader.h"

#include <string>

namespace ecokv::model {

class DeltaNet {
public:
    DeltaNet() = default;
    /// `prefix` ends in a dot ("model.layers.0.linear_attn.").
    DeltaNet(const DecoderConfig& config, const std::string& prefix, WeightLoader& loader);

    /// Normed rows [token, hidden] that follow what the layer's state has seen, to [token, hidden].
    /// The state lives in the cache: the last inputs of the convolution [channel, kernel - 1] in
    /// the compute dtype and the memory [valueHead, keyDim, valueDim] in f32.
    at::Tensor run(const at::Tensor& x, cache::KvCache& cache, LayerId layer) const;

    /// The first part whose weights are not all finite, in words; "" if there is none.
    std::string damagedPart() const;

private:
    struct State;
    struct Inputs;

    State readState(const at::Tensor& x, const cache::KvCache& cache, LayerId layer) const;
    at::Tensor convolve(const at::Tensor& mixed, State& state) const;
    Inputs project(const at::Tensor& x, State& state) const;
    at::Tensor remember(const Inputs& in, State& state) const;
    std::int64_t channels() const;

    DeltaNetConfig m_config;
    Linear m_queryKeyValue, m_gate, m_write, m_decay, m_out;
    at::Tensor m_convolution; ///< [channel, 1, kernel]
    at::Tensor m_rates;       ///< [valueHead] f32, exp(A_log)
    at::Tensor m_stepBias;    ///< [valueHead]
    RmsNorm m_norm;           ///< [valueDim]
};

} // namespace ecokv::model
