// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/geometry_report.h"

#include "cli/json_text.h"
#include "cli/layer_remark.h"
#include "cli/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace ecokv::cli {

namespace {

using analysis::ImportanceRelation;
using Json = nlohmann::json;

struct Column {
    const char* title;
    const char* metric;
    int digits;
    bool ofSplit; ///< of image or text tokens
};

constexpr Column kColumns[] = {
    {"r_cos", "redundancy_cosine", 3, false},
    {"r_euc", "redundancy_euclid", 3, false},
    {"aniso", "anisotropy", 3, false},
    {"dims", "participation_ratio", 1, false},
    {"|k|", "mean_key_norm", 2, false},
    {"r_cos pre", "redundancy_cosine_pre", 3, false},
    {"dims pre", "participation_ratio_pre", 1, false},
    {"r_cos image", "redundancy_cosine_image", 3, true},
    {"r_cos text", "redundancy_cosine_text", 3, true},
    {"dims image", "participation_ratio_image", 1, true},
    {"dims text", "participation_ratio_text", 1, true},
};

std::vector<Column> columnsOf(const GeometryReport& report) {
    std::vector<Column> columns;
    for (const Column& column : kColumns) {
        if (report.table.has(column.metric) && (report.split || !column.ofSplit)) {
            columns.push_back(column);
        }
    }
    return columns;
}

std::vector<std::string> rowOf(const GeometryReport& report, const std::vector<Column>& columns,
                               std::int64_t layer, std::int64_t kvHead) {
    std::vector<std::string> cells{fmt::format("{}", layer), fmt::format("{}", kvHead)};
    for (const Column& column : columns) {
        const auto value = static_cast<double>(report.table.value(column.metric, layer, kvHead));
        cells.push_back(numberCell(value, column.digits));
    }
    if (!report.relations.empty()) {
        const ImportanceRelation* relation = analysis::relationOf(report.relations, layer, kvHead);
        cells.push_back(relation ? numberCell(relation->composite.spearman, 2) : "-");
        cells.push_back(relation ? numberCell(relation->rankDisagreement, 2) : "-");
    }
    return cells;
}

Json relationJson(const ImportanceRelation& relation) {
    const auto one = [](const analysis::Relation& r) {
        return Json{{"spearman", jsonNumber(r.spearman)},
                    {"mutual_information", jsonNumber(r.mutualInformation)}};
    };
    return {{"candidates", relation.candidates},
            {"cosine", one(relation.cosine)},
            {"euclid", one(relation.euclid)},
            {"composite", one(relation.composite)},
            {"rank_disagreement", jsonNumber(relation.rankDisagreement)}};
}

Json headJson(const GeometryReport& report, std::int64_t layer, std::int64_t kvHead) {
    const analysis::GeometryTable& table = report.table;
    Json json{{"layer", layer},
              {"kv_head", kvHead},
              {"evicted", report.kinds.isEvicted(layer)},
              {"metrics", Json::object()}};
    for (const auto& [name, values] : table.metrics) {
        json["metrics"][name] = jsonNumber(table.value(name, layer, kvHead));
    }
    for (const auto& [name, values] : table.spectra) {
        const auto first = (layer * table.kvHeads + kvHead) * table.dim;
        Json spectrum = Json::array();
        for (std::int64_t i = first; i < first + table.dim; ++i) {
            spectrum.push_back(jsonNumber(values[static_cast<std::size_t>(i)]));
        }
        json[name] = std::move(spectrum);
    }
    if (const ImportanceRelation* relation =
            analysis::relationOf(report.relations, layer, kvHead)) {
        json["importance"] = relationJson(*relation);
    }
    return json;
}

Json clustersJson(const analysis::SurvivorClusters& survivors) {
    Json merges = Json::array();
    for (const analysis::ClusterMerge& merge : survivors.clusters.merges) {
        merges.push_back({merge.a, merge.b, merge.distance, merge.size});
    }
    return {{"policy", survivors.policy},
            {"layer", survivors.layer},
            {"first_head", survivors.firstHead},
            {"heads", survivors.heads},
            {"merges", merges},
            {"order", survivors.clusters.order}};
}

} // namespace

std::string geometryText(const GeometryReport& report) {
    const std::vector<Column> columns = columnsOf(report);
    TextTable table(0);
    std::vector<std::string> header{"layer", "head"};
    for (const Column& column : columns) {
        header.emplace_back(column.title);
    }
    if (!report.relations.empty()) {
        header.insert(header.end(), {"imp~div", "cos/euc"});
    }
    header.emplace_back(); // the last column of a table is not right-aligned
    table.addRow(header);
    for (std::int64_t head = 0; head < report.table.layers * report.table.kvHeads; ++head) {
        const std::int64_t layer = head / report.table.kvHeads;
        auto row = rowOf(report, columns, layer, head % report.table.kvHeads);
        row.emplace_back(std::ranges::binary_search(report.table.notFinite, layer)
                             ? "not finite"
                             : layerRemark(report.kinds, layer));
        table.addRow(row);
    }
    std::string text = table.text() + "\n";
    for (const std::string& line :
         analysis::describeGeometry(report.table, report.relations, report.survivors)) {
        text += line + "\n";
    }
    text +=
        "\nr = redundancy, 0 = keys all differ, 1 = all alike; dims = effective dimensions; pre "
        "= RoPE undone";
    if (!report.relations.empty()) {
        text += fmt::format(";\nimp~div = Spearman of importance and diversity (scores: {}); "
                            "cos/euc = rank disagreement of the diversities",
                            report.scores);
    }
    text += ".\n";
    for (const std::string& note : report.table.notes) {
        text += fmt::format("note: {}\n", note);
    }
    return text;
}

std::string geometryJson(const GeometryReport& report) {
    const analysis::GeometryTable& table = report.table;
    Json json{{"trace", report.trace},
              {"layers", table.layers},
              {"kv_heads", table.kvHeads},
              {"head_dim", table.dim},
              {"source", table.measured ? "keys" : "recorded"},
              {"not_finite", table.notFinite},
              {"layers_left_out", table.leftOut()},
              {"notes", table.notes},
              {"heads", Json::array()},
              {"summary", analysis::describeGeometry(table, report.relations, report.survivors)}};
    for (std::int64_t head = 0; head < table.layers * table.kvHeads; ++head) {
        json["heads"].push_back(headJson(report, head / table.kvHeads, head % table.kvHeads));
    }
    if (!report.scores.empty()) {
        json["scores"] = report.scores;
    }
    if (report.survivors) {
        json["clusters"] = clustersJson(*report.survivors);
    }
    return jsonText(json);
}

} // namespace ecokv::cli
