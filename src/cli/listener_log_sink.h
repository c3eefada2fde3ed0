#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Routes the core's log through the listener, so that a message never runs into the progress bar.
// Installed for as long as it lives; messages of other threads are serialised.

#include "base/log.h"
#include "cli/terminal_listener.h"

#include <memory>
#include <mutex>

#include <spdlog/sinks/base_sink.h>

namespace ecokv::cli {

class ListenerLogSink : public spdlog::sinks::base_sink<std::mutex> {
public:
    explicit ListenerLogSink(TerminalListener& listener) : m_listener(listener) {}

protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
        m_listener.line(std::string(spdlog::level::to_string_view(message.level).data()) + ": " +
                        std::string(message.payload.data(), message.payload.size()));
    }
    void flush_() override {}

private:
    TerminalListener& m_listener;
};

/// Installs the sink and restores the previous logger.
class ListenerLog {
public:
    explicit ListenerLog(TerminalListener& listener) : m_before(log()) {
        setLogger(
            std::make_shared<spdlog::logger>("ecokv", std::make_shared<ListenerLogSink>(listener)));
    }
    ~ListenerLog() { setLogger(m_before); }
    ListenerLog(const ListenerLog&) = delete;
    ListenerLog& operator=(const ListenerLog&) = delete;

private:
    std::shared_ptr<spdlog::logger> m_before;
};

} // namespace ecokv::cli
