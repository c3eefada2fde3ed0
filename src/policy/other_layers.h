#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The layers of a model that no eviction touches, in words. Pure function.

#include "policy/policy_config.h"

#include <string>

namespace ecokv::policy {

/// "sliding, not evicted: layers 0, 2; no KV cache (linear attention): layer 1"; "" if every layer
/// can be evicted (field case F034).
std::string otherLayersNote(const ModelShape& shape);

} // namespace ecokv::policy
