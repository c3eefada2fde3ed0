#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What replay, sweep and diff share: opening a trace for replay, the memory option, progress.

#include "analysis/replay.h"
#include "cli/terminal_progress.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace ecokv::cli {

struct ReplayInput {
    std::filesystem::path trace;
    std::int64_t cacheMegabytes = 1024;
};

/// TRACE and --cache-mb.
void addReplayInput(CLI::App& command, ReplayInput& input);

/// Throws Error{BadInput} for files that cannot be replayed.
std::unique_ptr<analysis::Replayer> openReplayer(const ReplayInput& input);

/// The trace's own budget, for policies that were named without one; 0 = it has none.
std::int64_t recordedBudget(const trace::TraceReader& reader);

/// A bar on stderr that goes away with it.
class ReplayProgress {
public:
    ReplayProgress();
    ~ReplayProgress();
    ReplayProgress(const ReplayProgress&) = delete;
    ReplayProgress& operator=(const ReplayProgress&) = delete;

    void show(const Progress& progress) { m_bar.update(progress); }

private:
    TerminalProgress m_bar;
};

} // namespace ecokv::cli
