// SPDX-License-Identifier: GPL-3.0-or-later
// PolicyConfig + prompt length to exact numbers, or a refusal before anything runs.
#include "base/error.h"
#include "policy/allocator.h"
#include "policy/config_checks.h"
#include "policy/head_table.h"
#include "policy/other_layers.h"
#include "policy/scorer.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace ecokv::policy {

namespace {

constexpr std::int64_t kRecentCap = 32;
constexpr std::int64_t kRecentShare = 4;
constexpr std::int64_t kLargestWindow = std::numeric_limits<int>::max();

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
    case RecentRule::LastToken:
        policy.recent = config.recent.value_or(free > 0 ? 1 : 0);
        break;
    case RecentRule::HalfBudget:
        policy.recent = config.recent.value_or(free / 2);
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

/// The budget the user asks for at this prompt length; 0 = all. Every number is checked before.
std::int64_t wantedBudget(const PolicyConfig& config, std::int64_t tokens) {
    if (!config.ratio) {
        return config.budget;
    }
    // As kvpress rounds, but never nothing (F001).
    const double kept = static_cast<double>(tokens) * (1.0 - *config.ratio);
    return std::max<std::int64_t>(static_cast<std::int64_t>(kept), 1);
}

/// A ratio asks for a share, so it yields to what is always kept, and says so (F001).
void raiseRatioBudget(ResolvedPolicy& policy, std::int64_t& budget) {
    const double ratio = *policy.config.ratio;
    const auto share = static_cast<std::int64_t>(static_cast<double>(policy.tokens) * (1 - ratio));
    budget = std::max(budget, policy.sink + policy.recent);
    if (budget > share) {
        addNote(policy, fmt::format("ratio {} of {} tokens leaves {}; {} are kept, the protected "
                                    "ones and at least 1",
                                    ratio, policy.tokens, share, budget));
    }
}

/// Why everything stays, or "" if something must go.
std::string reasonToKeepAll(const ResolvedPolicy& policy, const Scorer& scorer,
                            std::int64_t budget) {
    if (scorer.keepsAll) {
        return fmt::format("not compressed: policy {} keeps everything", scorer.info.name);
    }
    if (budget == 0) {
        return "not compressed: no budget was set";
    }
    if (policy.shape.layers > 0 && policy.shape.fullLayers().empty()) { // F034
        return policy.shape.linearLayers.empty()
                   ? "not compressed: every layer slides, and sliding layers are not evicted"
                   : "not compressed: every layer slides or has no KV cache";
    }
    if (budget >= policy.tokens) {
        return fmt::format("not compressed: the budget of {} covers the prompt of {} tokens",
                           budget, policy.tokens);
    }
    if (scorer.info.observes == Observation::Window && policy.tokens <= policy.window) { // F003
        return fmt::format("not compressed: prompt ({} tokens) <= window ({})", policy.tokens,
                           policy.window);
    }
    return {};
}

/// The rows the scorer looks at, whatever window was asked for.
void fixObservation(ResolvedPolicy& policy, const Scorer& scorer) {
    const Observation observes = scorer.info.observes;
    if (observes != Observation::LastRow && observes != Observation::AllRows) {
        return;
    }
    const bool all = observes == Observation::AllRows;
    policy.window = all ? static_cast<int>(std::min(policy.tokens, kLargestWindow)) : 1;
    if (policy.config.window && *policy.config.window != policy.window) {
        addNote(policy,
                fmt::format("{} observes {}; the window of {} is not used", scorer.info.name,
                            all ? "every row" : "the last row only", *policy.config.window));
    }
}

void takeRedundancy(ResolvedPolicy& policy) {
    const RedundancyChoice& choice = policy.config.redundancy;
    if (choice.source != RedundancySource::Table) {
        return;
    }
    const HeadTable table = readHeadTable(choice.file, HeadTableKind::Redundancy);
    checkHeadTable(table, choice.file, policy.shape);
    policy.headRedundancy = table.values;
    policy.shape.layers = table.layers; // known from here on, also to a caller who knew no shape
    policy.shape.kvHeads = table.kvHeads;
}

/// Puts shares of the full layers [full layer, kvHead] beside the sliding ones, which keep all, and
/// the linear ones, which hold nothing.
std::vector<std::int64_t> besideOtherLayers(const std::vector<std::int64_t>& shares,
                                            const ResolvedPolicy& policy) {
    const auto heads = static_cast<std::size_t>(policy.shape.kvHeads);
    if (shares.size() == static_cast<std::size_t>(policy.shape.layers) * heads) {
        return shares;
    }
    std::vector<std::int64_t> all;
    auto next = shares.begin();
    for (std::int32_t layer = 0; layer < policy.shape.layers && !shares.empty(); ++layer) {
        if (!policy.shape.canEvict(layer)) {
            all.insert(all.end(), heads, policy.shape.isSliding(layer) ? policy.tokens : 0);
        } else {
            all.insert(all.end(), next, next + policy.shape.kvHeads);
            next += policy.shape.kvHeads;
        }
    }
    return all;
}

/// Where everything stays, the numbers only say where statistics are measured.
void keepAll(ResolvedPolicy& policy) {
    policy.budget = policy.tokens;
    policy.sink = std::min(policy.sink, policy.tokens);
    policy.recent = std::min(policy.recent, policy.tokens - policy.sink);
}

} // namespace

std::int64_t ResolvedPolicy::headBudget(std::int32_t layer, std::int32_t kvHead) const {
    if (headBudgets.empty()) {
        return budget;
    }
    const auto at = static_cast<std::size_t>(std::int64_t{layer} * shape.kvHeads + kvHead);
    if (layer >= shape.layers || kvHead >= shape.kvHeads) {
        throwInternal(fmt::format("Layer {} head {} has no share of a budget for {} x {} heads.",
                                  layer, kvHead, shape.layers, shape.kvHeads));
    }
    return headBudgets[at];
}

std::int64_t ResolvedPolicy::judgedRows() const {
    constexpr std::int64_t kRowsForAll = 8;
    const Observation observes = findScorer(config.scorer).info.observes;
    const bool fixedRows = observes == Observation::LastRow || observes == Observation::AllRows;
    return std::min<std::int64_t>(fixedRows ? kRowsForAll : window, tokens);
}

ResolvedPolicy resolve(const PolicyConfig& config, std::int64_t tokens, const ModelShape& shape) {
    const Scorer& scorer = findScorer(config.scorer);
    const Allocator& allocator = findAllocator(config.allocator);
    checkConfig(config, tokens);

    ResolvedPolicy policy;
    policy.config = config;
    policy.shape = shape;
    policy.tokens = tokens;
    policy.poolMode = config.poolMode.value_or(scorer.defaults.poolMode);
    policy.valueNorm = config.valueNorm.value_or(scorer.defaults.valueNorm);
    std::int64_t budget = wantedBudget(config, tokens);
    const bool limited = budget > 0 && !scorer.keepsAll;
    fillProtection(policy, scorer.defaults, limited ? budget : tokens);
    if (config.ratio && limited) {
        raiseRatioBudget(policy, budget);
    }
    if (limited && budget - policy.sink < policy.recent) { // F031
        throwUsage(fmt::format("The budget of {} tokens per KV head is smaller than what is always "
                               "kept: {} sinks + {} recent tokens.",
                               budget, policy.sink, policy.recent),
                   "Raise the budget or lower sink, recent or window.");
    }
    fixObservation(policy, scorer);
    takeRedundancy(policy);

    const std::string reason = reasonToKeepAll(policy, scorer, budget);
    policy.compresses = reason.empty();
    policy.budget = budget;
    if (!policy.compresses) {
        policy.note = reason;
        keepAll(policy);
    }
    policy.window = static_cast<int>(std::min<std::int64_t>(policy.window, tokens));
    if (policy.compresses && allocator.shareModel != nullptr) {
        policy.headBudgets = besideOtherLayers(allocator.shareModel(policy), policy);
    }
    if (const std::string others = otherLayersNote(policy.shape);
        policy.compresses && !others.empty()) {
        addNote(policy, others);
    }
    return policy;
}

} // namespace ecokv::policy
