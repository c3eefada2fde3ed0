#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The tensors of a layer that was just prefilled, as policies take them: where the model left them,
// and on the host. Both point into what they were made from, which must outlive them.

#include "model/observer.h"
#include "policy/host_tensor.h"
#include "policy/layer_scores.h"
#include "session/key_rotation.h"

namespace ecokv::session {

class PrefilledLayer {
public:
    /// Where nothing is known of `ropes` the input has no rotation.
    PrefilledLayer(const model::LayerTensors& tensors, const model::LayerRopes& ropes)
        : m_rotation(ropes, tensors.layer, tensors.positions, tensors.ropePositions),
          m_input{.layer = tensors.layer,
                  .keys = tensors.keys,
                  .values = tensors.values,
                  .windowQueries = tensors.windowQueries,
                  .positions = tensors.positions,
                  .windowPositions = tensors.windowPositions,
                  .rotation = m_rotation.get()} {}
    PrefilledLayer(const PrefilledLayer&) = delete; // the input points into this object
    PrefilledLayer& operator=(const PrefilledLayer&) = delete;

    const policy::LayerInput& input() const { return m_input; }

private:
    KeyRotation m_rotation;
    policy::LayerInput m_input;
};

/// Copies what lies on a GPU.
class HostLayer {
public:
    explicit HostLayer(const policy::LayerInput& layer)
        : m_keys(layer.keys), m_values(layer.values), m_queries(layer.windowQueries),
          m_input(layer) {
        m_input.keys = m_keys.view();
        m_input.values = m_values.view();
        m_input.windowQueries = m_queries.view();
    }
    HostLayer(const HostLayer&) = delete; // the input points into this object
    HostLayer& operator=(const HostLayer&) = delete;

    const policy::LayerInput& input() const { return m_input; }

private:
    policy::HostTensor m_keys, m_values, m_queries;
    policy::LayerInput m_input;
};

} // namespace ecokv::session
