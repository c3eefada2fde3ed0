// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/signal_cancel.h"

#include <atomic>
#include <csignal>

namespace ecokv::cli {

namespace {

// A signal handler can only reach static storage.
std::atomic<CancellationSource*> activeSource{nullptr};

void onSignal(int signal) {
    if (CancellationSource* source = activeSource.load()) {
        source->cancel();
    }
    std::signal(signal, SIG_DFL);
}

} // namespace

SignalCancel::SignalCancel() {
    activeSource.store(&m_source);
    std::signal(SIGINT, onSignal);
    std::signal(SIGTERM, onSignal);
}

SignalCancel::~SignalCancel() {
    // The run is over and its result on the way out: a late Ctrl-C must not change the exit code.
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_IGN);
    activeSource.store(nullptr);
}

} // namespace ecokv::cli
