#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Shows a run on the terminal: the streamed answer on `out`, progress, notes and log lines on
// `err`. Both may be the same screen, so the bar rests while a line of the answer is open. One
// thread.

#include "cli/terminal_progress.h"
#include "session/engine.h"

#include <cstdio>
#include <string>

namespace ecokv::cli {

struct TerminalStreams {
    std::FILE* out = stdout;
    std::FILE* err = stderr;
    bool errIsTerminal = false;
    bool showText = true; ///< false with --json: the answer is part of the object
};

class TerminalListener : public session::RunListener {
public:
    explicit TerminalListener(const TerminalStreams& streams);

    void progress(const Progress& progress) override;
    void question(std::size_t index, const std::string& words) override;
    void text(session::Stream stream, const std::string& piece) override;
    void note(const std::string& sentence) override;
    void ledger(const session::Ledger& ledger) override;

    /// A line on `err` that neither the bar nor the answer runs into.
    void line(const std::string& text);
    /// Removes the bar and ends an open line of the answer.
    void finish();

private:
    void endLine();

    TerminalStreams m_streams;
    TerminalProgress m_bar;
    std::string m_stage;     ///< of the last progress
    bool m_lineOpen = false; ///< the answer has begun a line
    bool m_inFull = false;   ///< the full cache's answer has begun
};

} // namespace ecokv::cli
