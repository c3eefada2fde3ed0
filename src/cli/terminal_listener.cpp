// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/terminal_listener.h"

#include <fmt/format.h>

namespace ecokv::cli {

TerminalListener::TerminalListener(const TerminalStreams& streams)
    : m_streams(streams), m_bar(streams.err, streams.errIsTerminal) {}

void TerminalListener::progress(const Progress& progress) {
    const bool newStage = progress.stage != m_stage;
    m_stage = progress.stage;
    if (m_lineOpen && !newStage) {
        return; // a redraw would erase what was answered so far
    }
    if (m_lineOpen) {
        endLine();
    }
    m_bar.update(progress);
}

void TerminalListener::question(std::size_t index, const std::string& words) {
    if (!m_streams.showText) {
        return;
    }
    finish();
    m_inFull = false;
    fmt::print(m_streams.out, "{}question {}: {}\n", index == 0 ? "" : "\n", index + 1, words);
    std::fflush(m_streams.out);
}

void TerminalListener::text(session::Stream stream, const std::string& piece) {
    if (!m_streams.showText) {
        return;
    }
    m_bar.clear();
    if (stream == session::Stream::Full && !m_inFull) {
        m_inFull = true;
        fmt::print(m_streams.out, "full cache: ");
    }
    fmt::print(m_streams.out, "{}", piece);
    std::fflush(m_streams.out);
    m_lineOpen = true;
}

void TerminalListener::note(const std::string& sentence) {
    line("note: " + sentence);
}

void TerminalListener::ledger(const session::Ledger&) {
    m_bar.clear();
}

void TerminalListener::line(const std::string& text) {
    finish();
    fmt::print(m_streams.err, "{}\n", text);
}

void TerminalListener::endLine() {
    fmt::print(m_streams.out, "\n");
    std::fflush(m_streams.out);
    m_lineOpen = false;
}

void TerminalListener::finish() {
    m_bar.clear();
    if (m_lineOpen) {
        endLine();
    }
}

} // namespace ecokv::cli
