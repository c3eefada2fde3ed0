// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/policy_options.h"

#include "base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
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

bool isGiven(const CLI::App& command, const std::string& flag) {
    const CLI::Option* option = command.get_option_no_throw(flag);
    return option != nullptr && option->count() > 0;
}

[[noreturn]] void refuse(const std::string& flag, const std::string& name,
                         const std::string& value) {
    throwUsage(fmt::format("{} and {}={} of --policy contradict each other.", flag, name, value),
               "Say it in one place.");
}

/// "--budget 5 --policy ecokv:budget=6": nobody can tell which one was meant.
void refuseContradictions(const CLI::App& command, const PolicyOptions& o) {
    const policy::PolicyConfig text = policy::parsePolicy(o.policy);
    const policy::PolicyConfig flags = policySettings(command, o);
    for (const std::string& name : policy::namedOptions(o.policy)) {
        const std::string value = policy::optionText(text, name);
        const std::string typed = policy::optionText(flags, name);
        if (isGiven(command, "--" + name) && typed != value) {
            refuse(fmt::format("--{} {}", name, typed), name, value);
        }
        const std::string rival = name == "budget" ? "ratio" : name == "ratio" ? "budget" : "";
        if (!rival.empty() && isGiven(command, "--" + rival)) {
            refuse("--" + rival, name, value);
        }
    }
}

} // namespace

void addBudgetOption(CLI::App& command, std::int64_t& tokens, const std::string& what) {
    command.add_option("--budget", tokens, what);
}

void addPolicySettings(CLI::App& command, PolicyOptions& o) {
    addBudgetOption(command, o.config.budget,
                    "Tokens kept per KV head, protected ones included (needed unless full)");
    command
        .add_option("--allocator", o.config.allocator,
                    fmt::format("How the budget is shared over heads and layers: {}",
                                fmt::join(policy::allocators(), " ")))
        ->capture_default_str();
    command.add_option("--ratio", o.ratio,
                       "Share of the tokens evicted, 0 to 1, instead of a budget");
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

void refuseBesideLists(const CLI::App& command) {
    for (const auto& [list, single] :
         {std::pair{"--budgets", "--budget"}, std::pair{"--budgets", "--ratio"},
          std::pair{"--allocators", "--allocator"}}) {
        if (isGiven(command, list) && isGiven(command, single)) {
            throwUsage(fmt::format("{} and {} contradict each other.", single, list),
                       fmt::format("Leave {} out: {} holds for every policy that does not name its "
                                   "own.",
                                   single, list));
        }
    }
}

void addPolicyOptions(CLI::App& command, PolicyOptions& o) {
    command
        .add_option("--policy", o.policy,
                    policyNames() + ", with options as NAME:key=value,...; see `ecokv policies`")
        ->capture_default_str();
    addPolicySettings(command, o);
}

policy::PolicyConfig policySettings(const CLI::App& command, const PolicyOptions& o,
                                    const policy::PolicyConfig& base) {
    policy::PolicyConfig config = base;
    const auto given = [&](const char* flag) { return isGiven(command, flag); };
    if (given("--budget")) {
        config.budget = o.config.budget;
        config.ratio.reset(); // of `base`
    }
    if (given("--ratio")) {
        config.ratio = o.ratio;
        config.budget = given("--budget") ? o.config.budget : 0;
    }
    config.allocator = given("--allocator") ? o.config.allocator : config.allocator;
    config.window = given("--window") ? o.window : config.window;
    config.recent = given("--recent") ? o.recent : config.recent;
    config.sink = given("--sink") ? o.config.sink : config.sink;
    config.alpha = given("--alpha") ? o.config.alpha : config.alpha;
    config.beta = given("--beta") ? o.config.beta : config.beta;
    config.pool = given("--pool") ? o.config.pool : config.pool;
    config.seed = given("--seed") ? o.seed : config.seed;
    if (given("--geometry")) {
        config.geometry = o.geometry == "pre" ? policy::Geometry::Pre : policy::Geometry::Post;
    }
    return config;
}

policy::PolicyConfig chosenPolicy(const CLI::App& command, const PolicyOptions& o) {
    refuseContradictions(command, o);
    return policy::parsePolicy(o.policy, policySettings(command, o));
}

} // namespace ecokv::cli
