#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Settings that no prompt could be evicted with, whatever its length.

#include "policy/policy_config.h"

namespace ecokv::policy {

/// Throws Error{Usage} for the first number out of its range, with what it may be (field cases
/// F001, F029), and Error{BadInput} for a prompt without tokens.
void checkConfig(const PolicyConfig& config, std::int64_t tokens);

} // namespace ecokv::policy
