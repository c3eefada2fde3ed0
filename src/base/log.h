#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The logging sink of the core: a spdlog logger named "ecokv" that writes to stderr unless the
// program installs its own. Safe from any thread.

#include <memory>

#include <spdlog/logger.h>

namespace ecokv {

/// The logger; never null.
std::shared_ptr<spdlog::logger> log();
/// Replaces the logger, for programs that show messages elsewhere.
void setLogger(std::shared_ptr<spdlog::logger> logger);

} // namespace ecokv
