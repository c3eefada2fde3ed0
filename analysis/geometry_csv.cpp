// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/geometry_csv.h"

#include "analysis/csv_text.h"

#include <fmt/format.h>

namespace ecokv::analysis {

namespace {

std::string firstLine(const std::string& provenance) {
    return fmt::format("# {}\n", csvComment(provenance));
}

std::string cell(double value) {
    return csvCell(static_cast<float>(value));
}

constexpr const char* kRelationHeader =
    ",spearman_cosine,mutual_information_cosine,spearman_euclid,mutual_information_euclid,"
    "spearman_composite,mutual_information_composite,rank_disagreement";
constexpr const char* kNoRelation = ",,,,,,,";

std::string relationCells(const ImportanceRelation& relation) {
    std::string cells;
    for (const Relation* one : {&relation.cosine, &relation.euclid, &relation.composite}) {
        cells += fmt::format(",{},{}", cell(one->spearman), cell(one->mutualInformation));
    }
    return fmt::format("{},{}", cells, cell(relation.rankDisagreement));
}

} // namespace

std::string geometryCsv(const std::string& provenance, const GeometryTable& table,
                        const std::vector<ImportanceRelation>& relations) {
    std::string csv = firstLine(provenance) + "layer,kv_head";
    for (const auto& [name, values] : table.metrics) {
        csv += fmt::format(",{}", csvCell(name));
    }
    csv += relations.empty() ? "\n" : std::string(kRelationHeader) + "\n";
    for (std::int64_t head = 0; head < table.layers * table.kvHeads; ++head) {
        const std::int64_t layer = head / table.kvHeads, kvHead = head % table.kvHeads;
        csv += fmt::format("{},{}", layer, kvHead);
        for (const auto& [name, values] : table.metrics) {
            csv += fmt::format(",{}", csvCell(values[static_cast<std::size_t>(head)]));
        }
        if (!relations.empty()) {
            const ImportanceRelation* relation = relationOf(relations, layer, kvHead);
            csv += relation != nullptr ? relationCells(*relation) : kNoRelation;
        }
        csv += "\n";
    }
    return csv;
}

std::string spectrumCsv(const std::string& provenance, const GeometryTable& table) {
    std::string csv = firstLine(provenance) + "layer,kv_head,component";
    for (const auto& [name, values] : table.spectra) {
        csv += fmt::format(",{}", csvCell(name));
    }
    csv += "\n";
    for (std::int64_t i = 0; i < table.layers * table.kvHeads * table.dim; ++i) {
        const std::int64_t head = i / table.dim;
        csv += fmt::format("{},{},{}", head / table.kvHeads, head % table.kvHeads, i % table.dim);
        for (const auto& [name, values] : table.spectra) {
            csv += fmt::format(",{}", csvCell(values[static_cast<std::size_t>(i)]));
        }
        csv += "\n";
    }
    return csv;
}

std::string survivorDistanceCsv(const std::string& provenance, const SurvivorClusters& survivors,
                                std::int64_t kvHeads) {
    std::string csv =
        firstLine(provenance) + "layer_a,kv_head_a,layer_b,kv_head_b,jaccard_distance\n";
    const std::size_t count = survivors.clusters.order.size();
    for (const int a : survivors.clusters.order) {
        for (const int b : survivors.clusters.order) {
            const std::int64_t headA = survivors.heads[static_cast<std::size_t>(a)];
            const std::int64_t headB = survivors.heads[static_cast<std::size_t>(b)];
            const double distance =
                survivors
                    .distances[static_cast<std::size_t>(a) * count + static_cast<std::size_t>(b)];
            csv += fmt::format("{},{},{},{},{}\n", headA / kvHeads, headA % kvHeads,
                               headB / kvHeads, headB % kvHeads, cell(distance));
        }
    }
    return csv;
}

} // namespace ecokv::analysis
