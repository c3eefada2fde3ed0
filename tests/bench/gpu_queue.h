#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// GPU time of our kernels and of anything else on the default stream. A spinning kernel holds the
// stream until everything is queued, so that only device time counts, not the launches of the host.
// One thread drives.

#include "bench/paired.h"
#include "kernels/compact_rows.h"
#include "kernels/composite_score.h"
#include "kernels/key_statistics.h"
#include "kernels/window_importance.h"

#include <span>

namespace ecokv::bench {

/// The kernels of one launcher call without its last step, the copy of a few numbers to the host,
/// which waits for the GPU. What the call leaves on the host (`heads`, `constant`) is meaningless.
void queueKeyStatistics(const kernels::KeyStatisticsInput& input,
                        const kernels::KeyStatisticsOutput& output);
void queueWindowImportance(const kernels::WindowImportanceInput& input, float* importance);
void queueCompositeScore(const kernels::CompositeScoreInput& input,
                         const kernels::CompositeScoreParams& params,
                         const kernels::CompositeScoreOutput& output);
void queueCompaction(std::span<const kernels::RowsToCompact> heads);

/// Stopwatch of device time between CUDA events. `side` must not wait for the GPU.
double queuedMilliseconds(const Side& side, int round);
/// Stopwatch of wall-clock time until the GPU is idle.
double wallMilliseconds(const Side& side, int round);

/// Device-to-device copy of 1 GiB, bytes read plus bytes written.
double copyGigabytesPerSecond();
/// Copies `bytes` on the default stream.
void queueCopy(void* to, const void* from, std::size_t bytes);

} // namespace ecokv::bench
