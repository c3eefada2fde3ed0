// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/replay_tools.h"

#include "analysis/trace_values.h"

#include <cstdio>
#include <unistd.h>

namespace ecokv::cli {

void addReplayInput(CLI::App& command, ReplayInput& input) {
    command
        .add_option("trace", input.trace,
                    "Trace (*.ecokv.h5), or any HDF5 file with /tensors/keys and "
                    "/tensors/window_queries")
        ->required();
    command
        .add_option("--cache-mb", input.cacheMegabytes,
                    "Memory for tensors and measurements kept between settings, in MB")
        ->check(CLI::Range(0, 1'000'000))
        ->capture_default_str();
}

std::unique_ptr<analysis::Replayer> openReplayer(const ReplayInput& input) {
    analysis::ReplayOptions options;
    options.cacheBytes = static_cast<std::size_t>(input.cacheMegabytes) * 1'000'000;
    return std::make_unique<analysis::Replayer>(std::make_shared<trace::TraceReader>(input.trace),
                                                options);
}

std::int64_t recordedBudget(const trace::TraceReader& reader) {
    for (const std::string& id : reader.policyIds()) {
        const trace::Attributes attributes = reader.policy(id).attributes;
        const auto* budget = analysis::attributeOf<std::int64_t>(attributes, "budget");
        if (budget != nullptr && *budget < reader.dimensions().tokens) {
            return *budget;
        }
    }
    return 0;
}

ReplayProgress::ReplayProgress() : m_bar(stderr, isatty(STDERR_FILENO) != 0) {}

ReplayProgress::~ReplayProgress() {
    m_bar.clear();
}

} // namespace ecokv::cli
