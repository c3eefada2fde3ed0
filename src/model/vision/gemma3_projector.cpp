// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/vision/gemma3_projector.h"

#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/matmul.h>

namespace ecokv::model {

Gemma3Projector::Gemma3Projector(const Gemma3ProjectorConfig& config, const std::string& prefix,
                                 WeightLoader& loader)
    : m_config(config),
      m_normScale(loader.take(prefix + "mm_soft_emb_norm.weight", {config.visionHidden})),
      m_projection(loader.take(prefix + "mm_input_projection_weight",
                               {config.visionHidden, config.hidden})) {}

/// Normalised and scaled in f32, rounded once.
at::Tensor Gemma3Projector::norm(const at::Tensor& x) const {
    const at::Tensor wide = x.to(c10::kFloat);
    const at::Tensor inverse = at::rsqrt(wide.square().mean(-1, true).add_(m_config.normEps));
    return (wide * inverse * (m_normScale.to(c10::kFloat) + 1.0)).to(x.scalar_type());
}

at::Tensor Gemma3Projector::project(const at::Tensor& features) const {
    const std::int64_t side = m_config.patchSide;
    const std::int64_t kernel = side / m_config.tokenSide;
    const at::Tensor grid = features.transpose(0, 1).reshape({1, -1, side, side});
    const at::Tensor pooled = at::avg_pool2d(grid, {kernel, kernel}, {kernel, kernel});
    return at::matmul(norm(pooled.flatten(2).squeeze(0).transpose(0, 1)), m_projection);
}

} // namespace ecokv::model
