#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A policy's settings as plain named values, as /policies/<id> of a trace holds them, and back.
// Runs and replays write the same names. Pure functions; any thread.

#include "policy/policy_config.h"

#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace ecokv::policy {

using Setting = std::variant<std::string, double, std::int64_t>;
using Settings = std::map<std::string, Setting>;

/// Every number a policy was resolved to, and `settings`: the text that parsePolicy reads.
Settings settingsOf(const ResolvedPolicy& policy);

/// The configuration that resolves to these settings again, from `settings` or, in traces of
/// before it, from the numbers. Throws Error{BadInput} where no policy is named, Error{Usage} for
/// one that this program does not know.
PolicyConfig configOf(const Settings& settings);

} // namespace ecokv::policy
