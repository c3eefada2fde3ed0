// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/decoder/rotary.h"

#include "base/error.h"

#include <algorithm>

namespace ecokv::model {

Rotary::Rotary(const RopeSettings& settings, const at::TensorOptions& compute)
    : m_compute(compute) {
    if (settings.style != kernels::RopeStyle::Half) {
        throwInternal("The Llama decoder rotates pairs (i, i + dim/2) only.");
    }
    const auto count = static_cast<std::int64_t>(settings.inverseFrequencies.size());
    m_inverseFrequencies = at::empty({count}, at::TensorOptions(c10::kFloat));
    std::ranges::copy(settings.inverseFrequencies, m_inverseFrequencies.data_ptr<float>());
}

RotaryTables Rotary::tables(std::span<const std::int64_t> positions) const {
    const auto count = static_cast<std::int64_t>(positions.size());
    at::Tensor position = at::empty({count}, at::TensorOptions(c10::kFloat));
    std::ranges::transform(positions, position.data_ptr<float>(),
                           [](std::int64_t p) { return static_cast<float>(p); });
    const at::Tensor angles = at::outer(position, m_inverseFrequencies);
    return {angles.cos().to(m_compute), angles.sin().to(m_compute)};
}

at::Tensor rotate(const at::Tensor& x, const RotaryTables& tables) {
    const at::Tensor in = x.transpose(0, 1);
    const std::int64_t half = in.size(2) / 2;
    const at::Tensor low = in.narrow(2, 0, half);
    const at::Tensor high = in.narrow(2, half, half);
    at::Tensor out = at::empty(in.sizes(), in.options());
    at::Tensor outLow = out.narrow(2, 0, half);
    at::Tensor outHigh = out.narrow(2, half, half);
    at::mul_out(outLow, low, tables.cosine);
    outLow.addcmul_(high, tables.sine, -1);
    at::mul_out(outHigh, high, tables.cosine);
    outHigh.addcmul_(low, tables.sine);
    return out;
}

} // namespace ecokv::model
