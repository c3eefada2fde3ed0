#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Finds rows with NaN or Inf so that a run can say so. The kernels keep every result finite (a
// damaged key or value has norm 0, a damaged query row sees nothing), so only rows of norm 0 and
// the few query rows are looked at.

#include "policy/layer_scores.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ecokv::policy {

/// Notes like "layer 3 head 1: 2 keys hold NaN or Inf, counted as zero". `norm` [kvHead, token] is
/// that of the kernels.
std::vector<std::string> damagedKeys(const LayerInput& input, const std::vector<float>& norm);
std::vector<std::string> damagedValues(const LayerInput& input, const std::vector<float>& norm);
/// Of the last `window` query rows; the head named is the query head.
std::vector<std::string> damagedQueries(const LayerInput& input, std::int64_t window);

/// The layer that such a note is about; nothing for other notes. `what`: "keys", "values", "query
/// rows" or "" = any of them.
std::optional<std::int64_t> damagedLayerOf(const std::string& note, const std::string& what = {});

/// Whether all of `rows` [head, row, dim] f32/bf16/f16, contiguous in host memory, are finite.
bool holdsOnlyFinite(const TensorView& rows);

} // namespace ecokv::policy
