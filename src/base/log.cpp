// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/log.h"

#include <mutex>

#include <spdlog/sinks/stdout_color_sinks.h>

namespace ecokv {

namespace {

struct Slot {
    std::mutex mutex;
    std::shared_ptr<spdlog::logger> logger;
};

Slot& slot() {
    static Slot instance;
    return instance;
}

} // namespace

std::shared_ptr<spdlog::logger> log() {
    Slot& current = slot();
    const std::lock_guard lock(current.mutex);
    if (!current.logger) {
        current.logger = std::make_shared<spdlog::logger>(
            "ecokv", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
        current.logger->set_pattern("%^%l%$: %v");
    }
    return current.logger;
}

void setLogger(std::shared_ptr<spdlog::logger> logger) {
    Slot& current = slot();
    const std::lock_guard lock(current.mutex);
    current.logger = std::move(logger);
}

} // namespace ecokv
