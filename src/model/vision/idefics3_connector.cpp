// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/vision/idefics3_connector.h"

#include "model/vision/pixel_shuffle.h"

#include <cmath>

#include <ATen/ops/bucketize.h>

namespace ecokv::model {

at::Tensor positionsByShare(std::int64_t tableSide, std::int64_t side, c10::ScalarType dtype) {
    constexpr double kBelowOne = 1.0 - 1e-6;
    const double step = 1.0 / static_cast<double>(tableSide);
    const at::Tensor boundaries = at::arange(step, 1.0, step, at::TensorOptions(c10::kFloat));
    const at::Tensor indices = at::arange(side, at::TensorOptions(c10::kFloat));
    const float share = 1.0F / static_cast<float>(side);
    const at::Tensor shares = (indices * share).clamp_max(kBelowOne).to(dtype);
    const at::Tensor buckets = at::bucketize(shares, boundaries, /*out_int32=*/false,
                                             /*right=*/true); // [side] i64
    return (buckets.unsqueeze(1) * tableSide + buckets.unsqueeze(0)).flatten();
}

Idefics3Connector::Idefics3Connector(std::int64_t merged, std::int64_t visionHidden,
                                     std::int64_t hidden, WeightLoader& loader)
    : m_merged(merged),
      m_projection(loader.takeLinear("model.connector.modality_projection.proj",
                                     {hidden, visionHidden * merged * merged}, false)) {}

at::Tensor Idefics3Connector::project(const at::Tensor& features) const {
    const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(features.size(0))));
    return m_projection(pixelShuffled(features, side, m_merged));
}

} // namespace ecokv::model
