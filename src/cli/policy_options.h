#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The options of one policy, the same for every command that takes one. What the policy's own text
// says ("ecokv:window=16") stands beside the flags; where both name a setting they must agree.

#include "analysis/replay.h" // and the policies' own names with it

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>

namespace ecokv::cli {

/// As typed; turned into a PolicyConfig when the command runs.
struct PolicyOptions {
    policy::PolicyConfig config;
    std::string policy = "ecokv", geometry = "post";
    int window = 0;
    std::int64_t recent = 0;
    double ratio = 0;
    std::uint64_t seed = 0;
};

/// --budget: whole tokens; what may not be one, the session says.
void addBudgetOption(CLI::App& command, std::int64_t& tokens, const std::string& what);
/// --budget, --allocator, --window, ...: everything but the policy's name.
void addPolicySettings(CLI::App& command, PolicyOptions& options);
/// What a list varies has no single value beside it: throws Error{Usage} for --budgets with
/// --budget or --ratio, and for --allocators with --allocator.
void refuseBesideLists(const CLI::App& command);
/// The settings and --policy.
void addPolicyOptions(CLI::App& command, PolicyOptions& options);

/// `base` with the flags that were given: defaults for policies that are named otherwise.
policy::PolicyConfig policySettings(const CLI::App& command, const PolicyOptions& options,
                                    const policy::PolicyConfig& base = {});
/// Throws Error{Usage} for unknown names and values.
policy::PolicyConfig chosenPolicy(const CLI::App& command, const PolicyOptions& options);

} // namespace ecokv::cli
