#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// measureKeys() for one range of candidates after another, as replay asks for them: `recent`
// follows small budgets, so that every budget has its own candidates.

#include "kernels/key_sums.h"
#include "policy/measured_parts.h"

namespace ecokv::policy {

/// Empty sums for ranges that begin at token `first` of the layer.
kernels::KeySums keySumsFor(const LayerInput& input, std::int64_t first, Geometry geometry);

/// The numbers of measureKeys() on the CPU, to the last bit; whole blocks that `sums` knows are
/// read once instead of twice. `sums` is that of keySumsFor() for this layer, first candidate and
/// geometry.
std::shared_ptr<const KeyMeasurement> measureKeys(const LayerInput& input, TokenRange candidates,
                                                  Geometry geometry, kernels::KeySums& sums);

} // namespace ecokv::policy
