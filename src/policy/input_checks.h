#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Refuses layers whose tensors do not fit together, before a kernel sees them: Error{BadInput}
// "Layer 3 cannot be scored: ...". Stateless.

#include "policy/layer_scores.h"

#include <cstdint>
#include <string>

namespace ecokv::policy {

[[noreturn]] void refuseLayer(const LayerInput& input, const std::string& why,
                              const std::string& advice = {});

/// Keys [kvHead, token, dim]; what geometry Pre needs.
void checkKeys(const LayerInput& input, Geometry geometry);
/// Queries beside the keys, positions of both, and at least `window` rows.
void checkWindow(const LayerInput& input, std::int64_t window);
/// Values beside the keys, where there are any.
void checkValues(const LayerInput& input);

} // namespace ecokv::policy
