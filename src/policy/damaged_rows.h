#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Finds rows with NaN or Inf so that a run can say so. The kernels keep every result finite (a
// damaged key or value has norm 0, a damaged query row sees nothing), so only rows of norm 0 and
// the few query rows are looked at.

#include "policy/layer_scores.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ecokv::policy {

/// Notes like "layer 3 head 1: 2 keys hold NaN or Inf, counted as zero". keyNorm and valueNorm
/// [kvHead, token] are those of the kernels; the last `window` query rows were observed.
std::vector<std::string> damageNotes(const LayerInput& input, std::int64_t window,
                                     const std::vector<float>& keyNorm,
                                     const std::vector<float>& valueNorm);

} // namespace ecokv::policy
