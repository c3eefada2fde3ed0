// SPDX-License-Identifier: GPL-3.0-or-later
// PolicyConfig + prompt length to exact numbers, or a refusal before anything runs.
#include "base/error.h"
#include "policy/scorer.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace ecokv::policy {

namespace {

constexpr std::int64_t kRecentCap = 32;
constexpr std::int64_t kRecentShare = 4;
constexpr std::int64_t kLargestWindow = std::numeric_limits<int>::max();

void checkRange(const char* name, double value) {
    if (!(value >= 0.0 && value <= 1.0)) { // written so that NaN is refused too
        throwUsage(
            fmt::format("{} is {}; it is a share and must lie between 0 and 1.", name, value));
    }
}

void checkNotNegative(const char* name, std::int64_t value) {
    if (value < 0) {
        throwUsage(fmt::format("{} is {}; it counts tokens and cannot be negative.", name, value));
    }
}

void checkConfig(const PolicyConfig& config, std::int64_t tokens) {
    if (tokens < 1) {
        throwBadInput("The prompt has no tokens, so there is nothing to score.");
    }
    checkNotNegative("The budget", config.budget);
    checkNotNegative("The window", config.window.value_or(0));
    checkNotNegative("The number of recent tokens", config.recent.value_or(0));
    checkNotNegative("The number of sinks", config.sink);
    checkRange("alpha", config.alpha);
    checkRange("beta", config.beta);
    if (config.pool < 1 || config.pool % 2 == 0) { // F029
        throwUsage(fmt::format("The pooling width is {}; it must be odd and at least 1, so that "
                               "every token has as many neighbours on either side.",
                               config.pool),
                   "Use 1 for no pooling, 5 for the default.");
    }
}

void addNote(ResolvedPolicy& policy, const std::string& note) {
    policy.note += (policy.note.empty() ? "" : "; ") + note;
}

/// Fills window and recent in for a budget (N where the budget keeps everything).
void fillProtection(ResolvedPolicy& policy, const ScorerDefaults& defaults, std::int64_t budget) {
    const PolicyConfig& config = policy.config;
    policy.sink = config.sink;
    policy.window = config.window.value_or(defaults.window);
    const std::int64_t free = std::max<std::int64_t>(budget - config.sink, 0);
    switch (defaults.recent) {
    case RecentRule::Zero:
        policy.recent = config.recent.value_or(0);
        break;
    case RecentRule::QuarterBudget:
        policy.recent = config.recent.value_or(std::min(kRecentCap, budget / kRecentShare));
        break;
    case RecentRule::TiedToWindow:
        if (!config.window && config.recent) {
            policy.window = static_cast<int>(std::min(*config.recent, kLargestWindow));
        } else if (!config.window && free <= defaults.window) {
            policy.window = static_cast<int>(free / 2);
            addNote(policy, fmt::format("window and recent set to {} because the default of {} "
                                        "does not fit a budget of {}",
                                        policy.window, defaults.window, budget));
        }
        policy.recent = config.recent.value_or(policy.window);
        break;
    }
    // F013: a window of 0 protects no tail; something must be observed all the same.
    if (policy.window == 0) {
        policy.window = 1;
        addNote(policy, "window 0 protects nothing; the last query row is observed");
    }
}

/// Why everything stays, or "" if something must go.
std::string reasonToKeepAll(const ResolvedPolicy& policy, const Scorer& scorer) {
    if (scorer.keepsAll) {
        return fmt::format("not compressed: policy {} keeps everything", scorer.info.name);
    }
    if (policy.config.budget == 0) {
        return "not compressed: no budget was set";
    }
    if (policy.config.budget >= policy.tokens) {
        return fmt::format("not compressed: the budget of {} covers the prompt of {} tokens",
                           policy.config.budget, policy.tokens);
    }
    if (policy.tokens <= policy.window) { // F003
        return fmt::format("not compressed: prompt ({} tokens) <= window ({})", policy.tokens,
                           policy.window);
    }
    return {};
}

} // namespace

ResolvedPolicy resolve(const PolicyConfig& config, std::int64_t tokens, const ModelShape& shape) {
    const Scorer& scorer = findScorer(config.scorer);
    checkAllocator(config.allocator);
    checkConfig(config, tokens);

    ResolvedPolicy policy;
    policy.config = config;
    policy.shape = shape;
    policy.tokens = tokens;
    policy.poolMode = config.poolMode.value_or(scorer.defaults.poolMode);
    policy.valueNorm = config.valueNorm.value_or(scorer.defaults.valueNorm);
    const bool limited = config.budget > 0 && !scorer.keepsAll;
    fillProtection(policy, scorer.defaults, limited ? config.budget : tokens);
    if (limited && config.budget - policy.sink < policy.recent) { // F031
        throwUsage(fmt::format("The budget of {} tokens per KV head is smaller than what is always "
                               "kept: {} sinks + {} recent tokens.",
                               config.budget, policy.sink, policy.recent),
                   "Raise the budget or lower sink, recent or window.");
    }

    const std::string reason = reasonToKeepAll(policy, scorer);
    policy.compresses = reason.empty();
    if (policy.compresses) {
        policy.budget = config.budget;
        return policy;
    }
    policy.note = reason; // the numbers below only say where statistics are measured
    policy.budget = tokens;
    policy.window = static_cast<int>(std::min<std::int64_t>(policy.window, tokens));
    policy.sink = std::min(policy.sink, tokens);
    policy.recent = std::min(policy.recent, tokens - policy.sink);
    return policy;
}

} // namespace ecokv::policy
