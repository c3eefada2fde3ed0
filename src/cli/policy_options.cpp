// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/policy_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace ecokv::cli {

namespace {

std::string policyNames() {
    std::vector<std::string> names;
    for (const policy::PolicyInfo& info : policy::policies()) {
        names.push_back(info.name);
    }
    return fmt::format("{}", fmt::join(names, " "));
}

} // namespace

void addPolicySettings(CLI::App& command, PolicyOptions& o) {
    command.add_option("--budget", o.config.budget,
                       "Tokens kept per KV head, protected ones included (needed unless full)");
    command
        .add_option("--allocator", o.config.allocator,
                    fmt::format("How the budget is shared over heads and layers: {}",
                                fmt::join(policy::allocators(), " ")))
        ->capture_default_str();
    command.add_option("--window", o.window, "Observation window, in rows");
    command.add_option("--recent", o.recent, "Last tokens that are always kept");
    command.add_option("--sink", o.config.sink, "First tokens that are always kept")
        ->capture_default_str();
    command.add_option("--alpha", o.config.alpha, "Share of the cosine in the diversity")
        ->capture_default_str();
    command.add_option("--beta", o.config.beta, "Share of the cosine in the redundancy")
        ->capture_default_str();
    command.add_option("--pool", o.config.pool, "Odd pooling kernel over the importance")
        ->capture_default_str();
    command
        .add_option("--geometry", o.geometry,
                    "Diversity of keys as cached (post) or with their rotation undone (pre)")
        ->check(CLI::IsMember({"post", "pre"}))
        ->capture_default_str();
    command.add_option("--seed", o.seed, "Of `random` and of sampling")->capture_default_str();
}

void addPolicyOptions(CLI::App& command, PolicyOptions& o) {
    command
        .add_option("--policy", o.policy,
                    policyNames() + ", with options as NAME:key=value,...; see `ecokv policies`")
        ->capture_default_str();
    addPolicySettings(command, o);
}

policy::PolicyConfig policySettings(const CLI::App& command, const PolicyOptions& o) {
    policy::PolicyConfig config = o.config;
    if (command.count("--window") > 0) {
        config.window = o.window;
    }
    if (command.count("--recent") > 0) {
        config.recent = o.recent;
    }
    config.geometry = o.geometry == "pre" ? policy::Geometry::Pre : policy::Geometry::Post;
    config.seed = o.seed;
    return config;
}

policy::PolicyConfig chosenPolicy(const CLI::App& command, const PolicyOptions& o) {
    return policy::parsePolicy(o.policy, policySettings(command, o));
}

} // namespace ecokv::cli
