// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/decoder/rotary.h"

#include "base/error.h"

#include <algorithm>

namespace ecokv::model {

Rotary::Rotary(const RopeSettings& settings, const at::TensorOptions& compute)
    : m_attentionScaling(settings.attentionScaling), m_compute(compute) {
    if (settings.style != kernels::RopeStyle::Half) {
        throwInternal("The decoder rotates pairs (i, i + dim/2) only.");
    }
    const auto count = static_cast<std::int64_t>(settings.inverseFrequencies.size());
    m_inverseFrequencies = at::empty({count}, at::TensorOptions(c10::kFloat));
    std::ranges::copy(settings.inverseFrequencies, m_inverseFrequencies.data_ptr<float>());
    if (!settings.axes.empty()) {
        m_axes = at::empty({count}, at::TensorOptions(c10::kLong));
        std::ranges::copy(settings.axes, m_axes.data_ptr<std::int64_t>());
    }
}

RotaryTables Rotary::tablesOf(const at::Tensor& angles) const {
    at::Tensor cosine = angles.cos();
    at::Tensor sine = angles.sin();
    if (m_attentionScaling != 1.0F) {
        cosine.mul_(m_attentionScaling);
        sine.mul_(m_attentionScaling);
    }
    return {cosine.to(m_compute), sine.to(m_compute)};
}

RotaryTables Rotary::tables(std::span<const std::int64_t> positions) const {
    const auto count = static_cast<std::int64_t>(positions.size());
    at::Tensor position = at::empty({count}, at::TensorOptions(c10::kFloat));
    std::ranges::transform(positions, position.data_ptr<float>(),
                           [](std::int64_t p) { return static_cast<float>(p); });
    return tablesOf(at::outer(position, m_inverseFrequencies));
}

RotaryTables Rotary::tables(std::span<const cache::RopePosition> positions) const {
    const auto count = static_cast<std::int64_t>(positions.size());
    at::Tensor axes = at::empty({count, 3}, at::TensorOptions(c10::kFloat));
    float* to = axes.data_ptr<float>();
    for (const cache::RopePosition& position : positions) {
        to = std::ranges::transform(position, to, [](std::int32_t p) {
                 return static_cast<float>(p);
             }).out;
    }
    const at::Tensor ofPair =
        m_axes.defined() ? axes.index_select(1, m_axes) : axes.narrow(1, 0, 1);
    return tablesOf(ofPair * m_inverseFrequencies);
}

at::Tensor rotate(const at::Tensor& x, const RotaryTables& tables) {
    const at::Tensor in = x.transpose(0, 1);
    const std::int64_t half = tables.cosine.size(1);
    const std::int64_t still = in.size(2) - 2 * half; // dims that do not turn
    const at::Tensor low = in.narrow(2, 0, half);
    const at::Tensor high = in.narrow(2, half, half);
    at::Tensor out = at::empty(in.sizes(), in.options());
    at::Tensor outLow = out.narrow(2, 0, half);
    at::Tensor outHigh = out.narrow(2, half, half);
    at::mul_out(outLow, low, tables.cosine);
    outLow.addcmul_(high, tables.sine, -1);
    at::mul_out(outHigh, high, tables.cosine);
    outHigh.addcmul_(low, tables.sine);
    if (still > 0) {
        out.narrow(2, 2 * half, still).copy_(in.narrow(2, 2 * half, still));
    }
    return out;
}

} // namespace ecokv::model
