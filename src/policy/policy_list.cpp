// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/policy_list.h"

#include "base/error.h"
#include "policy/scorer.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ecokv::policy {

namespace {

constexpr const char* kListAdvice =
    "Write policies with commas between, each as NAME or NAME:key=value,key=value, for example "
    "full,snapkv:window=16,recent=8,ecokv.";

/// "window=16" belongs to the policy before it; "ecokv" and "ecokv:window=16" begin one.
bool isOption(std::string_view part) {
    const std::size_t equals = part.find('=');
    return equals != std::string_view::npos && part.find(':') > equals;
}

void addOnce(std::vector<PolicyConfig>& all, PolicyConfig config) {
    if (findScorer(config.scorer).keepsAll) {
        config.budget = 0;
        config.ratio.reset();
        config.allocator = PolicyConfig{}.allocator;
    } else if (config.budget == 0 && !config.ratio) {
        throwUsage(fmt::format("The policy {} needs a budget.", policyText(config)),
                   "Give budgets, for example --budgets 16,32,64.");
    }
    if (std::find(all.begin(), all.end(), config) == all.end()) {
        all.push_back(std::move(config));
    }
}

void checkBudgets(const std::vector<std::int64_t>& budgets) {
    const auto wrong = std::ranges::find_if(budgets, [](std::int64_t one) { return one < 1; });
    if (wrong != budgets.end()) {
        throwUsage(fmt::format("A budget of {} was given among {}; each is a number of tokens kept "
                               "per KV head and must be at least 1.",
                               *wrong, fmt::join(budgets, ", ")),
                   "Leave it out. What everything gives, the policy full shows: it needs no "
                   "budget.");
    }
}

/// One policy at every allocator and budget of a grid.
void addPolicy(std::vector<PolicyConfig>& all, const std::string& text, const PolicyGrid& grid,
               const PolicyConfig& defaults) {
    const std::vector<std::int64_t> budgets =
        grid.budgets.empty() ? std::vector{defaults.budget} : grid.budgets;
    const std::vector<std::string> allocators =
        grid.allocators.empty() ? std::vector{defaults.allocator} : grid.allocators;
    PolicyConfig common = defaults;
    for (const std::string& allocator : allocators) {
        common.allocator = allocator;
        for (const std::int64_t budget : budgets) {
            common.budget = budget;
            addOnce(all, parsePolicy(text, common));
        }
    }
}

} // namespace

std::vector<std::string> splitPolicyList(const std::string& list) {
    std::vector<std::string> policies;
    std::string_view rest = list;
    for (bool more = true; more;) {
        const std::size_t comma = rest.find(',');
        const std::string_view part = rest.substr(0, comma);
        more = comma != std::string_view::npos;
        rest = more ? rest.substr(comma + 1) : std::string_view{};
        if (part.empty()) {
            throwUsage(fmt::format("The list of policies \"{}\" has an empty entry.", list),
                       kListAdvice);
        }
        if (!isOption(part)) {
            policies.emplace_back(part);
            continue;
        }
        if (policies.empty()) {
            throwUsage(fmt::format("The list of policies \"{}\" begins with the option \"{}\".",
                                   list, part),
                       kListAdvice);
        }
        policies.back() += policies.back().find(':') == std::string::npos ? ':' : ',';
        policies.back() += part;
    }
    return policies;
}

std::vector<PolicyConfig> expandPolicies(const PolicyGrid& grid, const PolicyConfig& defaults) {
    std::vector<PolicyConfig> all;
    checkBudgets(grid.budgets);
    for (const std::string& list : grid.lists) {
        for (const std::string& text : splitPolicyList(list)) {
            addPolicy(all, text, grid, defaults);
        }
    }
    return all;
}

} // namespace ecokv::policy
