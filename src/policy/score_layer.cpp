// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "policy/damaged_rows.h"
#include "policy/measurement.h"
#include "policy/policy.h"
#include "policy/scorer.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace ecokv::policy {

namespace {

[[noreturn]] void refuse(const LayerInput& input, const std::string& why,
                         const std::string& advice = {}) {
    throwBadInput(fmt::format("Layer {} cannot be scored: {}.", input.layer.value, why), advice);
}

void checkShapes(const LayerInput& input) {
    const TensorView& keys = input.keys;
    const TensorView& queries = input.windowQueries;
    if (keys.rank != 3 || queries.rank != 3) {
        refuse(input, fmt::format("keys must be [kvHead, token, dim] and window queries [head, "
                                  "row, dim], not {} and {}",
                                  keys.describe(), queries.describe()));
    }
    if (keys.shape[0] < 1 || queries.shape[0] % keys.shape[0] != 0 || queries.shape[0] == 0) {
        refuse(input, fmt::format("{} query heads cannot be shared out to {} KV heads",
                                  queries.shape[0], keys.shape[0]));
    }
    if (queries.shape[2] != keys.shape[2]) {
        refuse(input, fmt::format("queries have {} dimensions and keys {}", queries.shape[2],
                                  keys.shape[2]));
    }
    const TensorView& values = input.values;
    if (values.data != nullptr && (values.rank != 3 || values.shape[0] != keys.shape[0] ||
                                   values.shape[1] != keys.shape[1])) {
        refuse(input,
               fmt::format("values are {} beside keys {}", values.describe(), keys.describe()));
    }
}

void checkInput(const LayerInput& input, const ResolvedPolicy& policy) {
    checkShapes(input);
    const std::int64_t tokens = input.keys.shape[1];
    const std::int64_t rows = input.windowQueries.shape[1];
    if (tokens != policy.tokens) {
        refuse(input, fmt::format("it holds {} tokens, but the policy was resolved for {}", tokens,
                                  policy.tokens));
    }
    if (static_cast<std::int64_t>(input.positions.size()) != tokens ||
        static_cast<std::int64_t>(input.windowPositions.size()) != rows) {
        refuse(input,
               fmt::format("{} token positions and {} window positions were given for {} "
                           "tokens and {} window rows",
                           input.positions.size(), input.windowPositions.size(), tokens, rows));
    }
    if (rows < policy.window) {
        refuse(input,
               fmt::format("it has {} query rows and the observation window needs {}", rows,
                           policy.window),
               "Use a smaller window, or record more rows.");
    }
    if (policy.valueNorm && input.values.data == nullptr) {
        refuse(input, "the value norm is part of the importance and there are no values",
               "Use vnorm=off, or record values.");
    }
    if (policy.config.geometry == Geometry::Pre &&
        (input.rotation == nullptr || input.rotation->positions == nullptr)) {
        refuse(input, "geometry 'pre' needs to know how the keys were rotated",
               "Use geometry=post, or a trace that names rope_theta and rope_style.");
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
                                        i / kWhat.size(), kWhat[i % kWhat.size()]));
        }
    }
}

void fillHeads(const Measurement& measured, double beta, LayerScores& scores) {
    const std::vector<double> mixed = measured.redundancy(beta);
    for (std::size_t head = 0; head < measured.heads().size(); ++head) {
        const kernels::HeadStatistics& statistics = measured.heads()[head];
        scores.redundancyCosine.push_back(static_cast<float>(statistics.redundancyCosine));
        scores.redundancyEuclid.push_back(static_cast<float>(statistics.redundancyEuclid));
        scores.redundancy.push_back(static_cast<float>(mixed[head]));
        scores.anisotropy.push_back(static_cast<float>(statistics.anisotropy));
        scores.meanKeyNorm.push_back(static_cast<float>(statistics.meanKeyNorm));
        scores.participationRatio.push_back(
            static_cast<float>(measured.participationRatio()[head]));
    }
}

LayerScores assemble(const Measurement& measured, const ResolvedPolicy& policy,
                     std::vector<std::string> notes) {
    const Composite& composite = measured.common();
    const std::vector<float> score = findScorer(policy.config.scorer).score(measured, policy);
    noteConstants(composite, measured, notes);

    LayerScores scores;
    scores.layer = measured.layer();
    scores.kvHeads = static_cast<std::int32_t>(measured.kvHeads());
    scores.tokens = measured.tokens();
    scores.importance = spread(composite.importance, measured);
    scores.diversityCosine = spread(composite.diversityCosine, measured);
    scores.diversityEuclid = spread(composite.diversityEuclid, measured);
    scores.diversity = spread(composite.diversity, measured);
    scores.score = spread(score, measured);
    scores.keyNorm = measured.keyNorm();
    scores.valueNorm = measured.valueNorm();
    fillHeads(measured, policy.config.beta, scores);
    scores.notes = std::move(notes);
    return scores;
}

} // namespace

LayerScores scoreLayer(const LayerInput& input, const ResolvedPolicy& policy,
                       kernels::Backend backend) {
    checkInput(input, policy);
    const Measurement measured(input, policy, backend);
    return assemble(measured, policy,
                    damageNotes(input, policy.window, measured.keyNorm(), measured.valueNorm()));
}

} // namespace ecokv::policy
