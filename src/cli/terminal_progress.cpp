// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/terminal_progress.h"

#include "cli/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ecokv::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBarWidth = 24;
constexpr int kTerminalWidth = 79; // one less than the usual 80, so that no terminal wraps
constexpr auto kRedrawEvery = std::chrono::milliseconds(50);

std::string clockText(double seconds) {
    const auto whole = static_cast<long>(std::lround(seconds));
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

/// "3/6 layers", "1.2 MB of 3.7 MB".
std::string countText(const Progress& progress) {
    if (progress.unit == "bytes") {
        return fmt::format("{} of {}", byteText(static_cast<double>(progress.done)),
                           byteText(static_cast<double>(progress.total)));
    }
    return fmt::format("{}/{} {}", progress.done, progress.total, progress.unit);
}

} // namespace

TerminalProgress::TerminalProgress(std::FILE* out, bool onTerminal)
    : m_out(out), m_onTerminal(onTerminal) {}

std::string TerminalProgress::line(const Progress& progress, double elapsedSeconds, int width) {
    std::string text = fmt::format("{:<18}", progress.stage);
    if (progress.total > 0) {
        const double share = std::clamp(
            static_cast<double>(progress.done) / static_cast<double>(progress.total), 0.0, 1.0);
        const auto filled = static_cast<std::size_t>(std::lround(share * kBarWidth));
        text += fmt::format(" [{}{}] {:3.0f} %  {}", std::string(filled, '#'),
                            std::string(kBarWidth - filled, '-'), share * 100, countText(progress));
        if (progress.done > 0 && progress.done < progress.total) {
            text += "  ETA " + clockText(elapsedSeconds * (1 - share) / share);
        }
    } else {
        text += fmt::format(" {} {}", progress.done, progress.unit);
    }
    return text.substr(0, static_cast<std::size_t>(width));
}

void TerminalProgress::update(const Progress& progress) {
    const bool newStage = progress.stage != m_stage;
    if (newStage) {
        m_stage = progress.stage;
        m_stageStart = Clock::now();
    }
    if (!m_onTerminal) {
        if (newStage) {
            printLine(progress);
        }
        return;
    }
    const bool finished = progress.total > 0 && progress.done >= progress.total;
    if (newStage || finished || Clock::now() - m_lastDraw >= kRedrawEvery) {
        redraw(progress);
    }
}

void TerminalProgress::printLine(const Progress& progress) {
    if (progress.unit == "bytes") {
        fmt::print(m_out, "{} ({})\n", progress.stage,
                   byteText(static_cast<double>(progress.total)));
    } else if (progress.total > 1) {
        fmt::print(m_out, "{} ({} {})\n", progress.stage, progress.total, progress.unit);
    } else {
        fmt::print(m_out, "{}\n", progress.stage);
    }
    std::fflush(m_out);
}

void TerminalProgress::redraw(const Progress& progress) {
    m_lastDraw = Clock::now();
    const double elapsed = std::chrono::duration<double>(m_lastDraw - m_stageStart).count();
    fmt::print(m_out, "\r\033[K{}", line(progress, elapsed, kTerminalWidth));
    std::fflush(m_out);
    m_shown = true;
}

void TerminalProgress::clear() {
    if (m_shown) {
        fmt::print(m_out, "\r\033[K");
        std::fflush(m_out);
        m_shown = false;
    }
}

} // namespace ecokv::cli
