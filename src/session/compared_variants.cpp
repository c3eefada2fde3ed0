// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/compared_variants.h"

#include "base/error.h"
#include "session/ledger_book.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace ecokv::session {

namespace {

constexpr const char* kFull = "full";
constexpr const char* kRandom = "random";
constexpr double kMegabyte = 1e6;

bool hasFull(const std::vector<policy::PolicyConfig>& policies) {
    return std::any_of(policies.begin(), policies.end(),
                       [](const policy::PolicyConfig& policy) { return policy.scorer == kFull; });
}

/// How much a policy is asked to keep: tokens, or a share of the prompt.
using Amount = std::pair<std::int64_t, std::optional<double>>;

Amount amountOf(const policy::PolicyConfig& policy) {
    return {policy.budget, policy.ratio};
}

std::string textOf(const Amount& amount) {
    return amount.second ? fmt::format("ratio {}", *amount.second)
                         : fmt::format("budget {}", amount.first);
}

bool hasRandom(const std::vector<policy::PolicyConfig>& policies, const Amount& amount) {
    return std::any_of(policies.begin(), policies.end(), [&](const policy::PolicyConfig& policy) {
        return policy.scorer == kRandom && amountOf(policy) == amount;
    });
}

/// In the order in which they first appear.
std::vector<Amount> amountsOf(const std::vector<policy::PolicyConfig>& policies) {
    std::vector<Amount> amounts;
    for (const policy::PolicyConfig& policy : policies) {
        const Amount amount = amountOf(policy);
        if (policy.scorer != kFull && amount != Amount{} &&
            std::find(amounts.begin(), amounts.end(), amount) == amounts.end()) {
            amounts.push_back(amount);
        }
    }
    return amounts;
}

} // namespace

std::vector<policy::PolicyConfig> completeComparison(std::vector<policy::PolicyConfig> policies,
                                                     std::vector<std::string>& notes) {
    if (!hasFull(policies)) {
        policy::PolicyConfig full;
        full.scorer = kFull;
        policies.insert(policies.begin(), full);
        notes.emplace_back("full was added: it is what the others are compared with.");
    }
    std::vector<std::string> added;
    for (const Amount& amount : amountsOf(policies)) {
        if (!hasRandom(policies, amount)) {
            policy::PolicyConfig random;
            random.scorer = kRandom;
            std::tie(random.budget, random.ratio) = amount;
            policies.push_back(random);
            added.push_back(textOf(amount));
        }
    }
    if (!added.empty()) {
        notes.push_back(fmt::format("random was added at {}: what chance keeps is the floor of a "
                                    "comparison.",
                                    fmt::join(added, ", ")));
    }
    return policies;
}

std::vector<Variant> resolveVariants(const std::vector<policy::PolicyConfig>& policies,
                                     std::int64_t tokens, const policy::ModelShape& shape) {
    std::vector<Variant> variants;
    for (const policy::PolicyConfig& config : policies) {
        Variant& variant = variants.emplace_back();
        try {
            variant.policy = policy::resolve(config, tokens, shape);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::Usage) {
                throw;
            }
            variant.policy.config = config;
            variant.policy.tokens = tokens;
            variant.policy.budget = config.budget;
            variant.refused = error.message();
        }
    }
    return variants;
}

std::size_t recordedVariant(const std::vector<Variant>& variants) {
    const auto firstWhere = [&](auto condition) {
        return std::find_if(variants.begin(), variants.end(), condition) - variants.begin();
    };
    const auto count = static_cast<std::ptrdiff_t>(variants.size());
    auto found = firstWhere([](const Variant& variant) {
        return variant.measured() && variant.policy.compresses &&
               variant.policy.config.scorer == "ecokv";
    });
    if (found == count) {
        found = firstWhere([](const Variant& v) { return v.measured() && v.policy.compresses; });
    }
    if (found == count) {
        found = firstWhere([](const Variant& variant) { return variant.measured(); });
    }
    if (found == count) {
        throwInternal("A comparison has no policy that can be measured.");
    }
    return static_cast<std::size_t>(found);
}

std::string memoryNote(const std::vector<Variant>& variants, const cache::CacheShape& shape,
                       std::int64_t newTokens, std::int64_t vocabulary) {
    std::uint64_t copies = 0, largest = 0;
    std::int64_t count = 0;
    std::uint64_t full = 0;
    for (const Variant& variant : variants) {
        const policy::ResolvedPolicy& policy = variant.policy;
        const std::int64_t all = policy.tokens + newTokens;
        const auto bytesOf = [&](std::int64_t kept) {
            return cacheBytes(shape, policy.shape.kinds(), kept, all);
        };
        full = std::max(full, variant.measured() ? bytesOf(all) : 0);
        if (variant.measured() && policy.compresses) {
            const std::uint64_t bytes = bytesOf(policy.budget + newTokens);
            copies += bytes;
            largest = std::max(largest, bytes);
            ++count;
        }
    }
    const auto logits =
        static_cast<std::uint64_t>(newTokens) * static_cast<std::uint64_t>(vocabulary) * 4;
    const auto megabytes = [](std::uint64_t bytes) {
        return static_cast<double>(bytes) / kMegabyte;
    };
    return fmt::format("The comparison holds the full cache ({:.1f} MB), {} compressed copies "
                       "({:.1f} MB, and one more while it is decoded) and the logits of up to {} "
                       "steps ({:.1f} MB).",
                       megabytes(full), count, megabytes(copies + largest), newTokens,
                       megabytes(logits));
}

} // namespace ecokv::session
