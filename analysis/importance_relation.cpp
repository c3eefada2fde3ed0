// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/importance_relation.h"

#include "analysis/mutual_information.h"
#include "analysis/rank_correlation.h"
#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ecokv::analysis {

namespace {

constexpr std::array kNames{"importance", "diversity_cosine", "diversity_euclid", "diversity"};

Relation relate(const std::vector<float>& x, const std::vector<float>& y) {
    return {spearman(x, y), mutualInformation(x, y)};
}

bool hasScores(const trace::TraceReader& reader) {
    const std::vector<std::string> names = reader.scoreNames();
    return std::all_of(kNames.begin(), kNames.end(), [&](const char* name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    });
}

ImportanceRelation recordedRelation(const trace::TraceReader& reader, std::int64_t layer,
                                    std::int64_t kvHead) {
    std::array<std::vector<float>, kNames.size()> scores;
    for (std::size_t i = 0; i < kNames.size(); ++i) {
        try {
            scores[i] = reader.scores(kNames[i], layer, kvHead);
        } catch (const Error& error) {
            throwBadInput(fmt::format("/scores/{} is left out from layer {} head {} on: {}",
                                      kNames[i], layer, kvHead, error.message()));
        }
    }
    ImportanceRelation relation = importanceRelation({scores[0], scores[1], scores[2], scores[3]});
    relation.layer = layer;
    relation.kvHead = kvHead;
    return relation;
}

} // namespace

ImportanceRelation importanceRelation(const HeadScores& scores) {
    std::vector<float> importance, cosine, euclid, composite;
    for (std::size_t i = 0; i < scores.importance.size(); ++i) {
        const bool candidate =
            std::isfinite(scores.importance[i]) && std::isfinite(scores.diversityCosine[i]) &&
            std::isfinite(scores.diversityEuclid[i]) && std::isfinite(scores.diversity[i]);
        if (candidate) {
            importance.push_back(scores.importance[i]);
            cosine.push_back(scores.diversityCosine[i]);
            euclid.push_back(scores.diversityEuclid[i]);
            composite.push_back(scores.diversity[i]);
        }
    }
    ImportanceRelation relation;
    relation.candidates = static_cast<std::int64_t>(importance.size());
    relation.cosine = relate(importance, cosine);
    relation.euclid = relate(importance, euclid);
    relation.composite = relate(importance, composite);
    relation.rankDisagreement = 1 - spearman(cosine, euclid);
    return relation;
}

const ImportanceRelation* relationOf(const std::vector<ImportanceRelation>& relations,
                                     std::int64_t layer, std::int64_t kvHead) {
    const auto found = std::find_if(relations.begin(), relations.end(), [&](const auto& relation) {
        return relation.layer == layer && relation.kvHead == kvHead;
    });
    return found == relations.end() ? nullptr : &*found;
}

std::vector<ImportanceRelation> importanceRelations(const trace::TraceReader& reader,
                                                    std::vector<std::string>& notes) {
    std::vector<ImportanceRelation> relations;
    if (!hasScores(reader)) {
        return relations;
    }
    const std::int64_t kvHeads = reader.dimensions().kvHeads;
    try {
        for (std::int64_t head = 0; head < reader.layersWritten() * kvHeads; ++head) {
            relations.push_back(recordedRelation(reader, head / kvHeads, head % kvHeads));
        }
    } catch (const Error& error) {
        notes.push_back(error.message());
    }
    return relations;
}

std::vector<ImportanceRelation> importanceRelations(const ReplayResult& replay) {
    std::vector<ImportanceRelation> relations;
    for (const auto& layer : replay.layers) {
        const auto tokens = static_cast<std::size_t>(layer->tokens);
        for (std::int32_t head = 0; head < layer->kvHeads; ++head) {
            const auto part = [&](const std::vector<float>& all) {
                return std::span<const float>(all).subspan(static_cast<std::size_t>(head) * tokens,
                                                           tokens);
            };
            relations.push_back(
                importanceRelation({part(layer->importance), part(layer->diversityCosine),
                                    part(layer->diversityEuclid), part(layer->diversity)}));
            relations.back().layer = layer->layer.value;
            relations.back().kvHead = head;
        }
    }
    return relations;
}

} // namespace ecokv::analysis
