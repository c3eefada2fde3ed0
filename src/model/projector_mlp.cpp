// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/projector_mlp.h"

namespace ecokv::model {

ProjectorMlp::ProjectorMlp(const ModelConfig& config, const std::string& prefix,
                           WeightLoader& loader)
    : m_config(config.projector) {
    const std::int64_t hidden = config.decoder.hidden;
    m_in = loader.takeLinear(prefix + "linear_1", {hidden, config.vision.hidden}, m_config.bias);
    m_out = loader.takeLinear(prefix + "linear_2", {hidden, hidden}, m_config.bias);
}

at::Tensor ProjectorMlp::project(const at::Tensor& features) const {
    const std::int64_t first = m_config.dropsClassToken ? 1 : 0;
    const at::Tensor selected = features.narrow(0, first, features.size(0) - first);
    return m_out(activate(m_config.activation, m_in(selected)));
}

} // namespace ecokv::model
