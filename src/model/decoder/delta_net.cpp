// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/decoder/delta_net.h"

#include "model/decoder/finite_checks.h"
#include "model/tensor_bridge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace ecokv::model {

namespace {

/// Rows of unit length, in the dtype of x.
at::Tensor unitRows(const at::Tensor& x) {
    constexpr double kEpsilon = 1e-6;
    return x * at::rsqrt((x * x).sum(-1, true).add_(kEpsilon));
}

/// [token, keyHead * dim] to [valueHead, token, dim] in f32, each key head for its group.
at::Tensor forValueHeads(const at::Tensor& x, const DeltaNetConfig& config) {
    const at::Tensor heads = unitRows(x.view({x.size(0), config.keyHeads, config.keyDim}));
    return heads.transpose(0, 1)
        .to(c10::kFloat)
        .repeat_interleave(config.valueHeads / config.keyHeads, 0);
}

} // namespace

struct DeltaNet::State {
    at::Tensor recent; ///< [channel, kernel - 1]
    at::Tensor memory; ///< [valueHead, keyDim, valueDim] f32
};

/// f32, [valueHead, token, ...].
struct DeltaNet::Inputs {
    at::Tensor query, key; ///< [..., keyDim], of unit length; the query also has the scale
    at::Tensor value;      ///< [..., valueDim]
    at::Tensor keep;       ///< [valueHead, token] how much of the memory stays
    at::Tensor write;      ///< [valueHead, token] how much of the difference is written
};

std::int64_t DeltaNet::channels() const {
    return 2 * std::int64_t{m_config.keyHeads} * m_config.keyDim +
           std::int64_t{m_config.valueHeads} * m_config.valueDim;
}

DeltaNet::DeltaNet(const DecoderConfig& config, const std::string& prefix, WeightLoader& loader)
    : m_config(config.deltaNet) {
    const std::int64_t hidden = config.hidden;
    const std::int64_t values = std::int64_t{m_config.valueHeads} * m_config.valueDim;
    m_queryKeyValue = loader.takeLinear(prefix + "in_proj_qkv", {channels(), hidden}, false);
    m_gate = loader.takeLinear(prefix + "in_proj_z", {values, hidden}, false);
    m_write = loader.takeLinear(prefix + "in_proj_b", {m_config.valueHeads, hidden}, false);
    m_decay = loader.takeLinear(prefix + "in_proj_a", {m_config.valueHeads, hidden}, false);
    m_out = loader.takeLinear(prefix + "out_proj", {hidden, values}, false);
    m_convolution =
        loader.take(prefix + "conv1d.weight", {channels(), 1, m_config.convolutionKernel});
    m_stepBias = loader.take(prefix + "dt_bias", {m_config.valueHeads});
    const at::Tensor logRates = loader.take(prefix + "A_log", {m_config.valueHeads});
    m_rates = logRates.defined() ? logRates.to(c10::kFloat).exp() : logRates;
    m_norm = loader.takeRmsNorm(prefix + "norm", m_config.valueDim, config.rmsNormEps);
}

std::string DeltaNet::damagedPart() const {
    const std::array<std::pair<const char*, const at::Tensor*>, 9> parts{
        {{"delta net's projection in_proj_qkv", &m_queryKeyValue.weight},
         {"delta net's gate in_proj_z", &m_gate.weight},
         {"delta net's projection in_proj_b", &m_write.weight},
         {"delta net's projection in_proj_a", &m_decay.weight},
         {"delta net's convolution conv1d", &m_convolution},
         {"delta net's dt_bias", &m_stepBias},
         {"delta net's A_log", &m_rates},
         {"delta net's norm", &m_norm.weight},
         {"delta net's output projection out_proj", &m_out.weight}}};
    const auto* found =
        std::ranges::find_if(parts, [](const auto& part) { return !isFinite(*part.second); });
    return found == parts.end() ? "" : found->first;
}

DeltaNet::State DeltaNet::readState(const at::Tensor& x, const cache::KvCache& cache,
                                    LayerId layer) const {
    const std::span<const TensorView> stored = cache.state(layer);
    if (stored.size() == 2) {
        return {tensorOf(stored[0]), tensorOf(stored[1])}; // the memory changes in place
    }
    return {at::zeros({channels(), m_config.convolutionKernel - 1}, x.options()),
            at::zeros({m_config.valueHeads, m_config.keyDim, m_config.valueDim},
                      x.options().dtype(c10::kFloat))};
}

/// Each channel sees its own last few inputs: [token, channel] to [token, channel].
at::Tensor DeltaNet::convolve(const at::Tensor& mixed, State& state) const {
    const at::Tensor inputs = at::cat({state.recent, mixed.transpose(0, 1)}, 1);
    const std::int64_t kept = state.recent.size(1);
    state.recent = inputs.narrow(1, inputs.size(1) - kept, kept).contiguous();
    const std::int64_t one = 1, none = 0;
    const at::Tensor out = at::conv1d(inputs.unsqueeze(0), m_convolution, {}, at::IntArrayRef(one),
                                      at::IntArrayRef(none), at::IntArrayRef(one), channels());
    return at::silu(out.squeeze(0)).transpose(0, 1).contiguous();
}

DeltaNet::Inputs DeltaNet::project(const at::Tensor& x, State& state) const {
    const std::int64_t keys = std::int64_t{m_config.keyHeads} * m_config.keyDim;
    const at::Tensor mixed = convolve(m_queryKeyValue(x), state);
    const at::Tensor values = mixed.narrow(1, 2 * keys, mixed.size(1) - 2 * keys);
    const at::Tensor step = at::softplus(m_decay(x).to(c10::kFloat) + m_stepBias);
    const double scale = 1.0 / std::sqrt(static_cast<double>(m_config.keyDim));
    return {.query = forValueHeads(mixed.narrow(1, 0, keys).contiguous(), m_config).mul_(scale),
            .key = forValueHeads(mixed.narrow(1, keys, keys).contiguous(), m_config),
            .value = values.contiguous()
                         .view({x.size(0), m_config.valueHeads, m_config.valueDim})
                         .transpose(0, 1)
                         .to(c10::kFloat),
            .keep = (step * m_rates).neg_().exp_().transpose(0, 1),
            .write = at::sigmoid(m_write(x)).to(c10::kFloat).transpose(0, 1)};
}

/// Token by token: the memory fades, the value it has for the key is corrected, the query reads.
/// [token, valueHead, valueDim] f32.
at::Tensor DeltaNet::remember(const Inputs& in, State& state) const {
    const std::int64_t tokens = in.key.size(1);
    at::Tensor read =
        at::empty({tokens, m_config.valueHeads, m_config.valueDim}, in.value.options());
    for (std::int64_t token = 0; token < tokens; ++token) {
        const at::Tensor key = in.key.select(1, token).unsqueeze(1); // [valueHead, 1, keyDim]
        const at::Tensor query = in.query.select(1, token).unsqueeze(1);
        state.memory.mul_(in.keep.select(1, token).unsqueeze(1).unsqueeze(2));
        const at::Tensor known = at::bmm(key, state.memory); // [valueHead, 1, valueDim]
        const at::Tensor change = (in.value.select(1, token).unsqueeze(1) - known)
                                      .mul_(in.write.select(1, token).unsqueeze(1).unsqueeze(2));
        state.memory.baddbmm_(key.transpose(1, 2), change);
        read.select(0, token).copy_(at::bmm(query, state.memory).squeeze(1));
    }
    return read;
}

at::Tensor DeltaNet::run(const at::Tensor& x, cache::KvCache& cache, LayerId layer) const {
    State state = readState(x, cache, layer);
    const Inputs inputs = project(x, state);
    const at::Tensor read = remember(inputs, state).to(x.scalar_type());
    const std::array<TensorView, 2> views{viewOf(state.recent), viewOf(state.memory)};
    cache.setState(layer, views);
    const at::Tensor gate = at::silu(m_gate(x).view(read.sizes()).to(c10::kFloat));
    const at::Tensor gated = (m_norm(read) * gate).to(x.scalar_type());
    return m_out(gated.view({x.size(0), -1}));
}

} // namespace ecokv::model
