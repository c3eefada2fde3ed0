// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/vision/projector_mlp.h"

namespace ecokv::model {

ProjectorMlp::ProjectorMlp(const ProjectorConfig& config, std::int64_t visionHidden,
                           std::int64_t hidden, const std::string& prefix, WeightLoader& loader)
    : m_config(config) {
    const auto width = visionHidden * std::ssize(m_config.encoderLayers);
    m_in = loader.takeLinear(prefix + "linear_1", {hidden, width}, m_config.bias);
    m_out = loader.takeLinear(prefix + "linear_2", {hidden, hidden}, m_config.bias);
}

at::Tensor ProjectorMlp::project(const at::Tensor& features) const {
    const std::int64_t first = m_config.dropsFirstToken ? 1 : 0;
    const at::Tensor selected = features.narrow(0, first, features.size(0) - first);
    return m_out(activate(m_config.activation, m_in(selected)));
}

} // namespace ecokv::model
