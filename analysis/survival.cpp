// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/survival.h"

#include "base/error.h"
#include "policy/head_geometry.h"

#include <fmt/format.h>

#include <algorithm>

namespace ecokv::analysis {

namespace {

/// The rows [begin, end) of kept [layer * kvHeads + kvHead, token] that a query is about.
struct Scope {
    std::int64_t begin = 0, end = 0;
};

const PolicyView& policyNamed(const TraceDocument& document, const std::string& id) {
    if (const PolicyView* policy = document.policy(id)) {
        return *policy;
    }
    throwUsage(fmt::format("{} has no policy \"{}\".", document.path.string(), id));
}

Scope scopeOf(const TraceDocument& document, const SurvivalQuery& query) {
    const trace::Dimensions& d = document.dimensions;
    const bool allLayers = query.layer == -1 && query.mode != SurvivalMode::Head;
    if (!allLayers && (query.layer < 0 || query.layer >= d.layers)) {
        throwUsage(fmt::format("There is no layer {}; {} has {} layers.", query.layer,
                               document.path.string(), d.layers));
    }
    if (allLayers) {
        return {0, d.layers * d.kvHeads};
    }
    const std::int64_t first = query.layer * d.kvHeads;
    if (query.mode != SurvivalMode::Head) {
        return {first, first + d.kvHeads};
    }
    if (query.kvHead < 0 || query.kvHead >= d.kvHeads) {
        throwUsage(fmt::format("There is no KV head {}; {} has {} per layer.", query.kvHead,
                               document.path.string(), d.kvHeads));
    }
    return {first + query.kvHead, first + query.kvHead + 1};
}

/// [layer] whether its heads are asked: a layer that is named, else those that count (F034).
std::vector<bool> askedLayers(const TraceDocument& document, std::int64_t layer) {
    const std::int64_t layers = document.dimensions.layers;
    if (layer == -1) {
        return document.kinds().counted(layers);
    }
    std::vector<bool> asked(static_cast<std::size_t>(layers), false);
    asked[static_cast<std::size_t>(layer)] = !document.isLinear(layer);
    return asked;
}

float shareOf(SurvivalMode mode, std::int64_t keeping, std::int64_t heads) {
    if (heads == 0) {
        return 0.0F; // a layer without a KV cache
    }
    switch (mode) {
    case SurvivalMode::Union:
        return keeping > 0 ? 1.0F : 0.0F;
    case SurvivalMode::Head:
    case SurvivalMode::Intersection:
        return keeping == heads ? 1.0F : 0.0F;
    case SurvivalMode::Count:
        return static_cast<float>(keeping) / static_cast<float>(heads);
    }
    throwInternal("A survival query has an unknown mode.");
}

void countKinds(const TraceDocument& document, SurvivalResult& result) {
    for (std::size_t token = 0; token < result.share.size(); ++token) {
        const bool image =
            document.prompt && document.prompt->tokenKind[token] == policy::kImageKind;
        const bool kept = result.share[token] > 0;
        result.kept += kept ? 1 : 0;
        (image ? result.imageTokens : result.textTokens) += 1;
        (image ? result.keptImage : result.keptText) += kept ? 1 : 0;
    }
}

} // namespace

SurvivalResult survival(const TraceDocument& document, const SurvivalQuery& query) {
    const auto& kept = policyNamed(document, query.policyId).record.kept;
    const Scope scope = scopeOf(document, query);
    const std::int64_t tokens = document.dimensions.tokens;
    std::vector<std::int64_t> keeping(static_cast<std::size_t>(tokens), 0);
    SurvivalResult result;
    const std::vector<bool> asked = askedLayers(document, query.layer);
    result.slidingLayers =
        query.layer == -1 ? document.kinds().slidingLeftOut(document.dimensions.layers) : 0;
    for (std::int64_t row = scope.begin; row < scope.end; ++row) {
        if (!asked[static_cast<std::size_t>(row / document.dimensions.kvHeads)]) {
            continue;
        }
        ++result.heads;
        const std::uint8_t* mask = kept.data() + row * tokens;
        for (std::size_t token = 0; token < keeping.size(); ++token) {
            keeping[token] += mask[token];
        }
    }
    result.share.resize(keeping.size());
    std::transform(keeping.begin(), keeping.end(), result.share.begin(),
                   [&](std::int64_t count) { return shareOf(query.mode, count, result.heads); });
    countKinds(document, result);
    return result;
}

} // namespace ecokv::analysis
