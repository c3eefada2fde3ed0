// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/input_checks.h"
#include "policy/measurement.h"
#include "policy/policy.h"
#include "policy/scorer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace ecokv::policy {

namespace {

void checkInput(const LayerInput& input, const ResolvedPolicy& policy) {
    checkWindow(input, policy.window);
    checkValues(input);
    checkKeys(input, policy.config.geometry);
    const std::int64_t tokens = input.keys.shape[1];
    if (tokens != policy.tokens) {
        refuseLayer(input, fmt::format("it holds {} tokens, but the policy was resolved for {}",
                                       tokens, policy.tokens));
    }
    if (policy.valueNorm && input.values.data == nullptr) {
        refuseLayer(input, "the value norm is part of the importance and there are no values",
                    "Use vnorm=off, or record values.");
    }
}

/// [kvHead, candidate] into [kvHead, token], NaN for protected tokens.
std::vector<float> spread(const std::vector<float>& candidates, const Measurement& measured) {
    std::vector<float> all(static_cast<std::size_t>(measured.kvHeads() * measured.tokens()),
                           std::numeric_limits<float>::quiet_NaN());
    const std::int64_t count = measured.candidates();
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(candidates.size()); ++i) {
        const std::int64_t token = measured.firstCandidate() + i % count;
        all[static_cast<std::size_t>(i / count * measured.tokens() + token)] =
            candidates[static_cast<std::size_t>(i)];
    }
    return all;
}

void noteConstants(const Composite& composite, const Measurement& measured,
                   std::vector<std::string>& notes) {
    static constexpr std::array kWhat = {
        "all keys are equally close to their mean direction, cosine diversity counted as 0",
        "all keys are equally far from their centre, Euclidean diversity counted as 0",
        "all value norms equal, counted as 0",
    };
    if (measured.candidates() < 2) {
        return; // nothing to compare with
    }
    for (std::size_t i = 0; i < composite.constant.size(); ++i) { // F021
        if (composite.constant[i] != 0) {
            notes.push_back(fmt::format("layer {} head {}: {}", measured.layer().value,
                                        measured.firstHead() + i / kWhat.size(),
                                        kWhat[i % kWhat.size()]));
        }
    }
}

/// F021: where nothing tells the candidates of a head apart, their positions decide.
void noteTies(const std::vector<float>& score, const Measurement& measured,
              std::vector<std::string>& notes) {
    const auto count = static_cast<std::ptrdiff_t>(measured.candidates());
    for (std::int64_t head = 0; count > 1 && head < measured.kvHeads(); ++head) {
        const auto begin = score.begin() + head * count;
        if (std::all_of(begin, begin + count, [&](float one) { return one == *begin; })) {
            notes.push_back(fmt::format("layer {} head {}: all candidates score the same, the "
                                        "lower positions stay",
                                        measured.layer().value, measured.firstHead() + head));
        }
    }
}

void fillHeads(const Measurement& measured, double beta, LayerScores& scores) {
    const std::vector<double> mixed = measured.redundancy(beta);
    for (std::size_t head = 0; head < measured.keys().heads.size(); ++head) {
        const kernels::HeadStatistics& statistics = measured.keys().heads[head];
        scores.redundancyCosine.push_back(static_cast<float>(statistics.redundancyCosine));
        scores.redundancyEuclid.push_back(static_cast<float>(statistics.redundancyEuclid));
        scores.redundancy.push_back(static_cast<float>(mixed[head]));
        scores.anisotropy.push_back(static_cast<float>(statistics.anisotropy));
        scores.meanKeyNorm.push_back(static_cast<float>(statistics.meanKeyNorm));
    }
}

} // namespace

LayerScores scoreLayer(const Measurement& measured, const ResolvedPolicy& policy) {
    const Composite& composite = measured.common();
    const std::vector<float> score = findScorer(policy.config.scorer).score(measured, policy);

    LayerScores scores;
    scores.layer = measured.layer();
    scores.kvHeads = static_cast<std::int32_t>(measured.kvHeads());
    scores.tokens = measured.tokens();
    scores.importance = spread(composite.importance, measured);
    scores.diversityCosine = spread(composite.diversityCosine, measured);
    scores.diversityEuclid = spread(composite.diversityEuclid, measured);
    scores.diversity = spread(composite.diversity, measured);
    scores.score = spread(score, measured);
    scores.keyNorm = measured.keys().norm;
    scores.valueNorm = measured.values().norm;
    fillHeads(measured, policy.config.beta, scores);
    scores.notes = measured.notes(); // of damage
    scores.isDamaged = !scores.notes.empty();
    noteConstants(composite, measured, scores.notes);
    noteTies(score, measured, scores.notes);
    return scores;
}

LayerScores scoreLayer(const LayerInput& input, const ResolvedPolicy& policy,
                       kernels::Backend backend) {
    checkInput(input, policy);
    return scoreLayer(Measurement(measureParts(input, policy, backend), policy), policy);
}

} // namespace ecokv::policy
