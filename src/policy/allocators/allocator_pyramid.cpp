// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/allocator.h"
#include "policy/exact_shares.h"
#include "policy/scorer.h"

#include <algorithm>

namespace ecokv::policy {

namespace {

/// Linear from the first layer down to the last. When one end meets its limit the other one moves
/// too, so that the mean stays the budget (F005, F007).
std::vector<double> ramp(const ResolvedPolicy& policy) {
    const auto mean = static_cast<double>(policy.budget);
    const auto least = static_cast<double>(smallestShare(policy));
    const auto most = static_cast<double>(policy.tokens);
    const auto kept = static_cast<double>(policy.sink + policy.recent);
    double last = std::max(kept + (mean - kept) / policy.config.pyramidBeta, least);
    double first = 2 * mean - last;
    if (first > most) {
        first = most;
        last = 2 * mean - most;
    }
    const auto layers = static_cast<std::int32_t>(policy.shape.fullLayers().size());
    std::vector<double> budgets;
    for (std::int32_t layer = 0; layer < layers; ++layer) {
        const double step = layers > 1 ? static_cast<double>(layer) / (layers - 1) : 0.5;
        budgets.push_back(first + (last - first) * step);
    }
    return budgets;
}

/// Heads of a layer are equal but for the remainder, which makes the total exact (F008).
std::vector<std::int64_t> share(const ResolvedPolicy& policy) {
    const std::vector<double> layers = ramp(policy);
    const ShareLimits ofLayer{smallestShare(policy), policy.tokens};
    const auto total = static_cast<std::int64_t>(layers.size()) * policy.budget;
    const std::vector<std::int64_t> whole =
        roundExactly(layers, std::vector(layers.size(), ofLayer), total);
    std::vector<std::int64_t> heads;
    for (const std::int64_t budget : whole) {
        heads.insert(heads.end(), static_cast<std::size_t>(policy.shape.kvHeads), budget);
    }
    return heads;
}

} // namespace

Allocator pyramidAllocator() {
    Allocator allocator;
    allocator.info = {
        "pyramid",
        "Early layers keep more tokens, late layers fewer; heads of a layer keep the same.",
        "b_l linear from 2 B - b_last down to b_last = P + (B - P) / pyramid_beta, P = sink + "
        "recent; at least max(P, 1), at most N; sum exactly layers x B",
        "PyramidKV, arXiv 2406.02069; without its rounding",
        {parameter("pyramid_beta")},
    };
    allocator.shareModel = share;
    return allocator;
}

} // namespace ecokv::policy
