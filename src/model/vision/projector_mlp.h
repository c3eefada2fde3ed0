#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The two-layer projector of LLaVA: features of the tower to embeddings of the decoder.

#include "model/aten.h"
#include "model/layers.h"
#include "model/vision/vision_config.h"
#include "model/weight_loader.h"

#include <string>

namespace ecokv::model {

class ProjectorMlp {
public:
    /// `prefix` ends in a dot: "model.multi_modal_projector.".
    ProjectorMlp(const ProjectorConfig& config, std::int64_t visionHidden, std::int64_t hidden,
                 const std::string& prefix, WeightLoader& loader);

    /// features [token, encoderLayers * visionHidden] to [imageToken, hidden].
    at::Tensor project(const at::Tensor& features) const;

private:
    Linear m_in, m_out;
    ProjectorConfig m_config;
};

} // namespace ecokv::model
