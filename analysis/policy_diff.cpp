// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/policy_diff.h"

#include "analysis/csv_text.h"
#include "analysis/rank_correlation.h"
#include "base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>

namespace ecokv::analysis {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Entries [head, token] of one head.
template <class T>
std::span<const T> headOf(const std::vector<T>& all, std::int64_t head, std::int64_t tokens) {
    return std::span(all).subspan(static_cast<std::size_t>(head * tokens),
                                  static_cast<std::size_t>(tokens));
}

double rankCorrelation(std::span<const float> a, std::span<const float> b) {
    std::vector<float> x, y;
    for (std::size_t token = 0; token < a.size(); ++token) {
        if (std::isfinite(a[token]) && std::isfinite(b[token])) {
            x.push_back(a[token]);
            y.push_back(b[token]);
        }
    }
    return spearman(x, y);
}

HeadDiff diffHead(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
    HeadDiff diff;
    for (std::size_t token = 0; token < a.size(); ++token) {
        const bool inA = a[token] != 0, inB = b[token] != 0;
        diff.keptA += inA ? 1 : 0;
        diff.keptB += inB ? 1 : 0;
        diff.both += inA && inB ? 1 : 0;
        if (inA && !inB) {
            diff.onlyA.push_back(static_cast<std::int32_t>(token));
        } else if (inB && !inA) {
            diff.onlyB.push_back(static_cast<std::int32_t>(token));
        }
    }
    const std::int64_t either = diff.keptA + diff.keptB - diff.both;
    // Heads that keep nothing on either side belong to layers without a KV cache.
    diff.jaccard =
        either > 0 ? static_cast<double>(diff.both) / static_cast<double>(either) : kNone;
    return diff;
}

std::vector<TokenDiff> countTokens(const std::vector<HeadDiff>& heads, std::int64_t tokens) {
    std::vector<TokenDiff> counts(static_cast<std::size_t>(tokens));
    for (const HeadDiff& head : heads) {
        for (const std::int32_t token : head.onlyA) {
            ++counts[static_cast<std::size_t>(token)].headsOnlyA;
        }
        for (const std::int32_t token : head.onlyB) {
            ++counts[static_cast<std::size_t>(token)].headsOnlyB;
        }
    }
    std::vector<TokenDiff> differing;
    for (std::size_t token = 0; token < counts.size(); ++token) {
        if (counts[token].headsOnlyA + counts[token].headsOnlyB > 0) {
            counts[token].token = static_cast<std::int64_t>(token);
            differing.push_back(counts[token]);
        }
    }
    return differing;
}

std::vector<std::int64_t> eitherOf(const std::vector<std::int64_t>& a,
                                   const std::vector<std::int64_t>& b) {
    std::set<std::int64_t> all(a.begin(), a.end());
    all.insert(b.begin(), b.end());
    return {all.begin(), all.end()};
}

void fillMeans(PolicyDiff& diff, const std::vector<bool>& counted) {
    double ranked = 0, kept = 0;
    for (const HeadDiff& head : diff.heads) {
        if (!counted[static_cast<std::size_t>(head.layer)]) {
            continue;
        }
        diff.jaccard += std::isnan(head.jaccard) ? 0 : head.jaccard;
        kept += std::isnan(head.jaccard) ? 0 : 1;
        diff.spearman += std::isnan(head.spearman) ? 0 : head.spearman;
        ranked += std::isnan(head.spearman) ? 0 : 1;
    }
    diff.jaccard = kept > 0 ? diff.jaccard / kept : diff.notFinite.empty() ? 1.0 : kNone;
    diff.spearman = ranked > 0 ? diff.spearman / ranked : kNone;
}

} // namespace

PolicyDiff diffPolicies(const trace::Dimensions& d, const DiffSide& a, const DiffSide& b,
                        const LayerKinds& kinds) {
    const std::int64_t heads = d.layers * d.kvHeads;
    const auto entries = static_cast<std::size_t>(heads * d.tokens);
    const bool ranked = !a.score.empty() && !b.score.empty();
    if (a.kept.size() != entries || b.kept.size() != entries || heads == 0 ||
        (ranked && (a.score.size() != entries || b.score.size() != entries))) {
        throwInternal("Policies of different traces were to be compared.");
    }
    PolicyDiff diff{a.name, b.name, {}, {}, eitherOf(a.notFinite, b.notFinite), 0, 0};
    for (std::int64_t head = 0; head < heads; ++head) {
        HeadDiff one = diffHead(headOf(a.kept, head, d.tokens), headOf(b.kept, head, d.tokens));
        one.layer = head / d.kvHeads;
        one.kvHead = head % d.kvHeads;
        one.spearman = ranked ? rankCorrelation(headOf(a.score, head, d.tokens),
                                                headOf(b.score, head, d.tokens))
                              : kNone;
        if (std::ranges::binary_search(diff.notFinite, one.layer)) {
            one.jaccard = one.spearman = kNone;
            one.onlyA.clear();
            one.onlyB.clear();
        }
        diff.heads.push_back(std::move(one));
    }
    diff.tokens = countTokens(diff.heads, d.tokens);
    fillMeans(diff, kinds.counted(d.layers));
    return diff;
}

std::string policyDiffCsv(const PolicyDiff& diff) {
    std::string csv =
        fmt::format("# a = {}; b = {}\n", csvComment(diff.nameA), csvComment(diff.nameB));
    csv += "layer,kv_head,kept_a,kept_b,both,jaccard,spearman,only_a,only_b\n";
    for (const HeadDiff& head : diff.heads) {
        csv += fmt::format("{},{},{},{},{},{},{},{},{}\n", head.layer, head.kvHead, head.keptA,
                           head.keptB, head.both, csvCell(static_cast<float>(head.jaccard)),
                           csvCell(static_cast<float>(head.spearman)), fmt::join(head.onlyA, " "),
                           fmt::join(head.onlyB, " "));
    }
    return csv;
}

} // namespace ecokv::analysis
