#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Progress on stderr: a bar with stage, percent and ETA on a terminal, plain lines elsewhere. One
// thread at a time.

#include "base/progress.h"

#include <chrono>
#include <cstdio>
#include <string>

namespace ecokv::cli {

class TerminalProgress {
public:
    /// `onTerminal`: redraw one line; false: a line per stage.
    TerminalProgress(std::FILE* out, bool onTerminal);

    void update(const Progress& progress);
    /// Removes the bar, so that other text can be printed.
    void clear();

    /// "Prefill        [#####-----]  50 %  3/6 layers  ETA 0:02", cut to `width` columns.
    static std::string line(const Progress& progress, double elapsedSeconds, int width);

private:
    void printLine(const Progress& progress);
    void redraw(const Progress& progress);

    std::FILE* m_out;
    bool m_onTerminal;
    bool m_shown = false;
    std::string m_stage;
    std::chrono::steady_clock::time_point m_stageStart, m_lastDraw;
};

} // namespace ecokv::cli
