// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/paired.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ecokv::bench {

namespace {

bool g_processorTime = false;

/// Wall clock, or processor time of all threads where the machine is busy with other work.
double nowMs() {
    timespec time{};
    clock_gettime(g_processorTime ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

double hostMilliseconds(const Side& side, int round) {
    const double start = nowMs();
    side(round);
    return nowMs() - start;
}

Stopwatch g_stopwatch = hostMilliseconds;

double quantile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

/// A value in kB of /proc/self/status, in bytes.
double statusBytes(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind(key + ":", 0) == 0) {
            return 1024 * std::stod(line.substr(key.size() + 1));
        }
    }
    return 0;
}

} // namespace

void measureProcessorTime() {
    g_processorTime = true;
}

void measureWith(Stopwatch stopwatch) {
    g_stopwatch = std::move(stopwatch);
}

Times timeRepeats(int repeats, const Side& side) {
    g_stopwatch(side, 0);
    std::vector<double> times;
    for (int round = 1; round <= repeats; ++round) {
        times.push_back(g_stopwatch(side, round));
    }
    return {quantile(times, 0.5), quantile(times, 0.9)};
}

PairedTime timePairs(int pairs, const Side& ours, const Side& reference, const Side& reset) {
    std::vector<double> own;
    std::vector<double> other;
    std::vector<double> ratios;
    const auto timed = [&](const Side& side, int round) {
        if (reset) {
            reset(round);
        }
        return g_stopwatch(side, round);
    };
    timed(ours, 0);
    timed(reference, 0);
    for (int round = 1; round <= pairs; ++round) {
        double mine = 0;
        double theirs = 0;
        if (round % 2 == 0) {
            mine = timed(ours, round);
            theirs = timed(reference, round);
        } else {
            theirs = timed(reference, round);
            mine = timed(ours, round);
        }
        own.push_back(mine);
        other.push_back(theirs);
        ratios.push_back(theirs / mine);
    }
    return {quantile(own, 0.5), quantile(other, 0.5), quantile(ratios, 0.5), quantile(ratios, 0.1)};
}

void printHeader() {
    fmt::print("{:<5}{:<46}{:>7}{:>12}{:>12}{:>8}{:>8}{:>7}{:>6}\n", "id", "what", "tokens",
               "reference", "ours", "ratio", "worst", "must", "aim");
}

void printRow(const Row& row) {
    fmt::print("{:<5}{:<46}{:>7}{:>9.3f} ms{:>9.3f} ms{:>7.1f}x{:>7.1f}x{:>6.1f}x{:>5.0f}x {}\n",
               row.id, row.what, row.tokens, row.time.referenceMs, row.time.oursMs, row.time.ratio,
               row.time.worst, row.must, row.aim,
               row.time.ratio >= row.aim    ? "aim met"
               : row.time.ratio >= row.must ? "met"
                                            : "MISSED");
    std::fflush(stdout);
}

double readGigabytesPerSecond() {
    constexpr std::int64_t kWords = 32 << 20; // 256 MiB
    std::vector<std::uint64_t> memory(static_cast<std::size_t>(kWords), 1);
    std::vector<double> rates;
    volatile std::uint64_t sink = 0;
    for (int round = 0; round < 5; ++round) {
        const double start = nowMs();
        std::uint64_t sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
        for (std::int64_t i = 0; i < kWords; ++i) {
            sum += memory[static_cast<std::size_t>(i)];
        }
        sink = sink + sum;
        rates.push_back(8e-6 * static_cast<double>(kWords) / (nowMs() - start));
    }
    return quantile(rates, 0.5);
}

double residentBytes() {
    return statusBytes("VmRSS");
}

void resetPeak() {
    std::ofstream("/proc/self/clear_refs") << "5";
}

double peakResidentBytes() {
    return statusBytes("VmHWM");
}

} // namespace ecokv::bench
