#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Paired timing for noisy machines: both sides alternate in one process, the order swaps, and only
// the ratios of neighbours count. One thread drives; the sides may use more.

#include <functional>
#include <string>

namespace ecokv::bench {

/// One side of a pair; `round` picks the input copy, so that no side finds its input in a cache.
using Side = std::function<void(int round)>;

/// How long one call of a side takes, in ms.
using Stopwatch = std::function<double(const Side& side, int round)>;

struct PairedTime {
    double oursMs = 0;      ///< median
    double referenceMs = 0; ///< median
    double ratio = 0;       ///< median of reference / ours over the pairs
    double worst = 0;       ///< lowest ratio of the middle 80 %
};

/// From now on times are processor time of the process instead of wall clock. With one thread that
/// gives usable ratios on a machine that is busy with other work.
void measureProcessorTime();

/// From now on times come from `stopwatch`: device time, say.
void measureWith(Stopwatch stopwatch);

struct Times {
    double medianMs = 0;
    double worstMs = 0; ///< highest of the lower 90 %
};
/// `repeats` calls of one side after one untimed call.
Times timeRepeats(int repeats, const Side& side);

/// Runs `pairs` (at least 7) alternating pairs after one untimed call of each side. `reset` runs
/// untimed before each side.
PairedTime timePairs(int pairs, const Side& ours, const Side& reference, const Side& reset = {});

struct Row {
    std::string id, what;
    std::int64_t tokens = 0;
    PairedTime time;
    double must = 0; ///< ratio that performance asks for
    double aim = 0;
};
void printHeader();
void printRow(const Row& row);

/// What the machine itself does now, in the same units as the kernels.
double readGigabytesPerSecond();
/// Resident memory of the process now and at its highest, in bytes.
double residentBytes();
/// Forgets the highest mark, so that the next reading is about what follows.
void resetPeak();
double peakResidentBytes();

} // namespace ecokv::bench
