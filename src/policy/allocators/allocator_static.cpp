// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "policy/allocator.h"
#include "policy/exact_shares.h"
#include "policy/head_table.h"
#include "policy/scorer.h"

namespace ecokv::policy {

namespace {

std::vector<std::int64_t> share(const ResolvedPolicy& policy) {
    const std::string& file = policy.config.headWeights;
    if (file.empty()) {
        throwUsage("The allocator static needs the weights of the heads.",
                   "Add head_weights=FILE; see the README for the format of head tables.");
    }
    const HeadTable table = readHeadTable(file, HeadTableKind::Weights);
    checkHeadTable(table, file, policy.shape);
    if (policy.shape.layers == 0) {
        return {}; // the file is in order; the model will say how many heads there are
    }
    const ShareLimits limits{smallestShare(policy), policy.tokens};
    std::vector<double> weights;
    for (const std::int32_t layer : policy.shape.fullLayers()) {
        const auto row = table.values.begin() + std::ptrdiff_t{layer} * table.kvHeads;
        weights.insert(weights.end(), row, row + table.kvHeads);
    }
    const auto count = static_cast<std::int64_t>(weights.size());
    return shareByWeight(weights, policy.sink + policy.recent, std::vector(weights.size(), limits),
                         count * policy.budget);
}

} // namespace

Allocator staticAllocator() {
    Allocator allocator;
    allocator.info = {
        "static",
        "Every head keeps tokens in proportion to its weight in a file.",
        "b_lh = P + s w_lh, between max(P, 1) and N, s such that the sum is exactly "
        "layers x H x B; P = sink + recent",
        "as SparseMM and HeadKV use head scores",
        {parameter("head_weights")},
    };
    allocator.shareModel = share;
    return allocator;
}

} // namespace ecokv::policy
