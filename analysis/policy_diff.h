#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Two sets of survivors side by side, head by head: how much they share, how alike they rank, what
// only one of them keeps. Pure functions of their input.

#include "trace/trace_records.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ecokv::analysis {

/// One policy, stored or replayed.
struct DiffSide {
    std::string name;
    std::vector<std::uint8_t> kept; ///< [layer, kvHead, token] 1 = survives
    std::vector<float> score;       ///< [layer, kvHead, token], NaN = no candidate; empty = unknown
    std::vector<std::int64_t> notFinite = {}; ///< layers of which nothing can be said
};

struct HeadDiff {
    std::int64_t layer = 0, kvHead = 0;
    std::int64_t keptA = 0, keptB = 0, both = 0;
    double jaccard = 1;  ///< shared / kept by either; NaN where neither keeps anything
    double spearman = 0; ///< of the scores of tokens that are candidates of both; NaN = unknown
    std::vector<std::int32_t> onlyA, onlyB; ///< positions, ascending
};

/// How many heads keep a token on one side only.
struct TokenDiff {
    std::int64_t token = 0, headsOnlyA = 0, headsOnlyB = 0;
};

struct PolicyDiff {
    std::string nameA, nameB;
    std::vector<HeadDiff> heads;   ///< by layer, kvHead
    std::vector<TokenDiff> tokens; ///< those that any head keeps on one side only, by position
    /// Layers with numbers that are not finite on either side, ascending: NaN in their heads, which
    /// differ in no token.
    std::vector<std::int64_t> notFinite;
    /// Means over the heads of layers that count (LayerKinds) and have one; NaN: none has.
    double jaccard = 0, spearman = 0;
};

/// Throws Error{Internal} where a side does not have the dimensions.
PolicyDiff diffPolicies(const trace::Dimensions& dimensions, const DiffSide& a, const DiffSide& b,
                        const LayerKinds& kinds = {});

/// layer,kv_head,kept_a,kept_b,both,jaccard,spearman,only_a,only_b; positions separated by spaces,
/// after a `#` line naming a and b.
std::string policyDiffCsv(const PolicyDiff& diff);

} // namespace ecokv::analysis
