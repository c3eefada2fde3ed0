// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/terminal_listener.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace ecokv::cli {

namespace {

using session::Stream;

/// A file that both streams write to, replayed as a terminal would show it.
class Screen {
public:
    Screen() : m_file(std::tmpfile()) {}
    ~Screen() { std::fclose(m_file); }
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    TerminalStreams streams(bool terminal = true) const { return {m_file, m_file, terminal, true}; }

    /// Lines after carriage returns and "erase to the end of the line" took effect.
    std::vector<std::string> lines() const {
        std::rewind(m_file);
        std::vector<std::string> lines(1);
        std::size_t column = 0;
        for (int byte = std::fgetc(m_file); byte != EOF; byte = std::fgetc(m_file)) {
            if (byte == '\n') {
                lines.emplace_back();
                column = 0;
            } else if (byte == '\r') {
                column = 0;
            } else if (byte == '\033') {
                std::fgetc(m_file); // [
                std::fgetc(m_file); // K
                lines.back().resize(std::min(lines.back().size(), column));
            } else {
                lines.back().resize(std::max(lines.back().size(), column + 1), ' ');
                lines.back()[column++] = static_cast<char>(byte);
            }
        }
        return lines;
    }

    bool shows(const std::string& line) const {
        const auto all = lines();
        return std::find(all.begin(), all.end(), line) != all.end();
    }

private:
    std::FILE* m_file;
};

void answer(TerminalListener& listener, Stream stream, const char* stage) {
    for (int token = 1; token <= 3; ++token) {
        listener.progress({stage, token, 16, "tokens"});
        listener.text(stream, std::to_string(token));
        std::this_thread::sleep_for(std::chrono::milliseconds(60)); // slower than the redraw
    }
}

} // namespace

TEST(TerminalListener, everyQuestionStandsAboveItsAnswers) {
    Screen screen;
    TerminalListener listener(screen.streams());
    for (const char* words : {"ZXY?", "squares?"}) {
        listener.question(words[0] == 'Z' ? 0 : 1, words);
        answer(listener, Stream::Policy, "Answering");
        answer(listener, Stream::Full, "Answering from the full cache");
    }
    listener.finish();
    const auto lines = screen.lines();
    EXPECT_EQ(lines,
              (std::vector<std::string>{"question 1: ZXY?", "123", "full cache: 123", "",
                                        "question 2: squares?", "123", "full cache: 123", ""}))
        << testing::PrintToString(lines);
}

TEST(TerminalListener, theAnswerStaysOnTheScreenBesideTheBar) {
    Screen screen;
    TerminalListener listener(screen.streams());
    listener.progress({"Prefill", 6, 6, "layers"});
    answer(listener, Stream::Policy, "Answering");
    listener.progress({"Closing the trace", 0, 1, "file"});
    listener.finish();
    EXPECT_TRUE(screen.shows("123")) << testing::PrintToString(screen.lines());
    EXPECT_FALSE(screen.shows("Prefill")); // the bar is gone
}

TEST(TerminalListener, bothAnswersStayOnTheirOwnLines) {
    Screen screen;
    TerminalListener listener(screen.streams());
    answer(listener, Stream::Policy, "Answering");
    answer(listener, Stream::Full, "Answering from the full cache");
    listener.finish();
    EXPECT_TRUE(screen.shows("123")) << testing::PrintToString(screen.lines());
    EXPECT_TRUE(screen.shows("full cache: 123")) << testing::PrintToString(screen.lines());
}

TEST(TerminalListener, notesAndLogLinesNeverRunIntoTheBarOrTheAnswer) {
    Screen screen;
    TerminalListener listener(screen.streams());
    listener.progress({"Loading weights", 1, 2, "bytes"});
    listener.line("info: computes in float32");
    listener.progress({"Answering", 1, 16, "tokens"});
    listener.text(Stream::Policy, "12");
    listener.note("something happened");
    listener.finish();
    EXPECT_TRUE(screen.shows("info: computes in float32"));
    EXPECT_TRUE(screen.shows("12")) << testing::PrintToString(screen.lines());
    EXPECT_TRUE(screen.shows("note: something happened"));
}

TEST(TerminalListener, withoutATerminalEveryStageIsOnePlainLine) {
    Screen screen;
    TerminalListener listener(screen.streams(false));
    for (int layer = 1; layer <= 6; ++layer) {
        listener.progress({"Prefill", layer, 6, "layers"});
    }
    listener.progress({"Loading weights", 0, 3'724'032, "bytes"});
    listener.finish();
    EXPECT_EQ(screen.lines(),
              (std::vector<std::string>{"Prefill (6 layers)", "Loading weights (3.7 MB)", ""}));
}

} // namespace ecokv::cli
