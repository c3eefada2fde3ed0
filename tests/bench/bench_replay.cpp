// SPDX-License-Identifier: GPL-3.0-or-later
// Replay of a long trace: how long a new budget, alpha or window takes once the trace was replayed,
// on 28 layers x 4 KV heads (7 query heads each) x 8192 tokens x 128 dimensions in bf16. Before a
// time is printed its survivors are compared with those of a Replayer that keeps nothing.
#include "analysis/replay.h"
#include "base/stop_watch.h"
#include "bench/paired.h"
#include "support/sample_trace.h"
#include "support/synthetic_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace ecokv;

/// Of the times of one row, ms.
struct Times {
    std::vector<double> wall, processor;
};

double quantile(std::vector<double> ms, double share) {
    std::sort(ms.begin(), ms.end());
    return ms[static_cast<std::size_t>(share * static_cast<double>(ms.size() - 1) + 0.5)];
}

/// Of all threads: on a machine that is busy with other work, half of it is what two idle cores
/// would take.
double processorMs() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

policy::PolicyConfig configOf(const std::string& text, std::int64_t budget) {
    policy::PolicyConfig config = policy::parsePolicy(text);
    config.budget = budget;
    return config;
}

class Bench {
public:
    Bench(analysis::Replayer& replayer, analysis::Replayer& fresh)
        : m_replayer(replayer), m_fresh(fresh) {}

    /// Replays each of `configs` once, in order.
    void row(const char* what, const std::vector<policy::PolicyConfig>& configs, double must) {
        Times times;
        for (const policy::PolicyConfig& config : configs) {
            const double before = processorMs();
            const StopWatch watch;
            const auto replayed = m_replayer.replay({config});
            times.wall.push_back(1e3 * watch.seconds());
            times.processor.push_back(processorMs() - before);
            m_last = replayed.kept();
        }
        if (m_last != m_fresh.replay({configs.back()}).kept()) {
            fmt::print("{:<46} WRONG: survivors differ from a fresh computation\n", what);
            std::exit(1);
        }
        fmt::print("{:<46} {:9.1f} ms {:9.1f} ms {:9.1f} ms {:>8}\n", what,
                   quantile(times.wall, 0.5), quantile(times.wall, 0.9),
                   quantile(times.processor, 0.5), must > 0 ? fmt::format("{:.0f} ms", must) : "");
        std::fflush(stdout);
    }

private:
    analysis::Replayer& m_replayer;
    analysis::Replayer& m_fresh;
    std::vector<std::uint8_t> m_last;
};

std::vector<policy::PolicyConfig> budgets(const std::string& text,
                                          std::initializer_list<std::int64_t> list) {
    std::vector<policy::PolicyConfig> configs;
    for (const std::int64_t budget : list) {
        configs.push_back(configOf(text, budget));
    }
    return configs;
}

std::vector<policy::PolicyConfig> variants(std::initializer_list<const char*> texts) {
    std::vector<policy::PolicyConfig> configs;
    for (const char* text : texts) {
        configs.push_back(configOf(text, 256));
    }
    return configs;
}

void measure(const std::filesystem::path& path) {
    const auto reader = std::make_shared<trace::TraceReader>(path);
    analysis::Replayer replayer(reader);
    analysis::Replayer fresh(reader, {.cacheBytes = 0});
    Bench bench(replayer, fresh);
    const double read = bench::readGigabytesPerSecond();
    const trace::Dimensions& d = reader->dimensions();
    const double keys = 2e-9 * static_cast<double>(d.layers * d.kvHeads * d.tokens * d.headDim);
    fmt::print(
        "memory read {:.1f} GB/s: the keys of the trace ({:.2f} GB) pass once in {:.0f} ms\n\n",
        read, keys, 1e3 * keys / read);
    fmt::print("{:<46} {:>12} {:>12} {:>12} {:>8}\n", "replay", "median", "p90", "all threads",
               "must");
    bench.row("first replay (reads the file)", {configOf("ecokv", 512)}, 0);
    bench.row("new budget, same protected tokens",
              budgets("ecokv", {128, 192, 256, 384, 512, 768, 1024, 2048, 4096, 160}), 16);
    bench.row("new alpha",
              variants({"ecokv:alpha=0.1", "ecokv:alpha=0.2", "ecokv:alpha=0.3", "ecokv:alpha=0.6",
                        "ecokv:alpha=0.7", "ecokv:alpha=0.9"}),
              250);
    bench.row("new beta", variants({"ecokv:beta=0.1", "ecokv:beta=0.3", "ecokv:beta=0.9"}), 250);
    bench.row("new window of up to 16 rows",
              variants({"ecokv:window=4", "ecokv:window=12", "ecokv:window=16"}), 250);
    bench.row("new window of 32 rows", variants({"ecokv:window=32"}), 250);
    bench.row("window seen before", variants({"ecokv:window=4", "ecokv:window=16"}), 250);
    bench.row("budget < 128, first visit (other candidates)",
              budgets("ecokv", {120, 112, 104, 96, 88, 80, 72, 64}), 0);
    bench.row("budget < 128, visited before", budgets("ecokv", {64, 72, 80, 88, 96, 104, 112, 120}),
              16);
    bench.row("un-rotated geometry, first visit", {configOf("ecokv:geometry=pre", 256)}, 0);
    bench.row("another policy (snapkv, window seen)", {configOf("snapkv:window=32", 256)}, 0);
    const analysis::ReplayStatistics kept = replayer.statistics();
    fmt::print("\nkept in memory: tensors {:.0f} MB, measurements and scores {:.0f} MB\n",
               1e-6 * static_cast<double>(kept.tensorBytes),
               1e-6 * static_cast<double>(kept.measurementBytes));
}

} // namespace

int main(int argc, char** argv) {
    const std::int64_t tokens = argc > 1 ? std::atoll(argv[1]) : 8192;
    const test::TemporaryFolder folder;
    test::SyntheticOptions options;
    options.dimensions = {28, 28, 4, tokens, 128, 32};
    options.values = false;
    measure(writeSyntheticTrace(folder / "bench.ecokv.h5", options));
    return 0;
}
