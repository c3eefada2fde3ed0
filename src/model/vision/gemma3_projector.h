#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// From the patches of Gemma 3's tower to embeddings of its decoder (arXiv 2503.19786): squares of
// patches averaged, normed, projected.

#include "model/aten.h"
#include "model/weight_loader.h"

#include <cstdint>

namespace ecokv::model {

struct Gemma3ProjectorConfig {
    std::int64_t visionHidden = 0, hidden = 0;
    std::int64_t patchSide = 0; ///< patches along an axis of a picture
    std::int64_t tokenSide = 0; ///< image tokens along an axis
    double normEps = 1e-6;
};

class Gemma3Projector {
public:
    /// `prefix` ends in a dot: "model.multi_modal_projector.".
    Gemma3Projector(const Gemma3ProjectorConfig& config, const std::string& prefix,
                    WeightLoader& loader);

    /// [patch, visionHidden] to [imageToken, hidden].
    at::Tensor project(const at::Tensor& features) const;

private:
    at::Tensor norm(const at::Tensor& x) const;

    Gemma3ProjectorConfig m_config;
    at::Tensor m_normScale;  ///< [visionHidden], what is added to one
    at::Tensor m_projection; ///< [visionHidden, hidden]
};

} // namespace ecokv::model
