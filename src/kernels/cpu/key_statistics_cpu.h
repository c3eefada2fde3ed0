#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: key statistics on the CPU, with or without sums of earlier calls.

#include "kernels/key_sums.h"

namespace ecokv::kernels::cpu {

/// `known` may be null; else it is made for these keys.
Status keyStatistics(const KeyStatisticsInput& input, const KeyStatisticsOutput& output,
                     KeySums* known);

} // namespace ecokv::kernels::cpu
