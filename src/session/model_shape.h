#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A model as policies see it. Pure function.

#include "model/model_info.h"
#include "policy/policy_config.h"

namespace ecokv::session {

inline policy::ModelShape shapeOf(const model::ModelInfo& info) {
    return {info.layers, info.kvHeads, info.name, info.slidingWindows, info.linearLayers};
}

} // namespace ecokv::session
