// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/csv_export.h"

#include "analysis/csv_text.h"
#include "analysis/image_tokens.h"
#include "base/error.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

namespace ecokv::analysis {

namespace {

constexpr float kNothing = std::numeric_limits<float>::quiet_NaN(); ///< an empty cell
constexpr const char* kScoreHeadings = "token,text,kind,importance,diversity,score,kept\n";

std::string firstLine(const TraceDocument& document, const std::string& policyId) {
    return fmt::format("# {}\n", csvComment(document.provenance(policyId)));
}

const char* kindName(std::uint8_t kind) {
    constexpr std::array<const char*, 3> names{"text", "special", "image"};
    return kind < names.size() ? names[kind] : "";
}

/// "12,word,text": the cells that name a token.
std::string tokenCells(const TraceDocument& document, std::size_t token) {
    if (!document.prompt) {
        return fmt::format("{},,", token);
    }
    return fmt::format("{},{},{}", token, csvCell(document.prompt->tokenText[token]),
                       kindName(document.prompt->tokenKind[token]));
}

/// "0,6,0,12,8": image and source rectangle, empty for other tokens.
std::string patchCells(const TraceDocument& document, std::size_t token) {
    if (!document.prompt || document.prompt->imageIndex[token] < 0) {
        return ",,,,";
    }
    const auto& box = document.prompt->patchBox[token];
    return fmt::format("{},{},{},{},{}", document.prompt->imageIndex[token], csvCell(box[0]),
                       csvCell(box[1]), csvCell(box[2]), csvCell(box[3]));
}

/// "patch", "newline", "separator", "thumbnail"; empty for tokens of no picture.
const char* roleCell(const TraceDocument& document, std::size_t token) {
    if (!document.prompt || document.prompt->imageIndex[token] < 0) {
        return "";
    }
    switch (patchRoleOf(document.prompt->patchRole[token])) {
    case PatchRole::Newline:
        return "newline";
    case PatchRole::Separator:
        return "separator";
    case PatchRole::Thumbnail:
        return "thumbnail";
    case PatchRole::Patch:
        break;
    }
    return "patch";
}

struct HeadColumn {
    std::string metric, policyId;
    std::vector<float> values; ///< [layer, kvHead]
};

std::string headTable(const TraceDocument& document, const HeadColumn& column) {
    std::string csv =
        firstLine(document, column.policyId) + "layer,kv_head," + csvCell(column.metric) + "\n";
    const std::int64_t kvHeads = document.dimensions.kvHeads;
    for (std::size_t i = 0; i < column.values.size(); ++i) {
        const auto head = static_cast<std::int64_t>(i);
        csv += fmt::format("{},{},{}\n", head / kvHeads, head % kvHeads, csvCell(column.values[i]));
    }
    return csv;
}

} // namespace

std::string headMetricCsv(const TraceDocument& document, const std::string& metric) {
    const auto* values = document.headMetric(metric);
    if (values == nullptr) {
        throwUsage(fmt::format("{} has no head metric \"{}\".", document.path.string(), metric));
    }
    return headTable(document, {metric, document.mainPolicy(), *values});
}

std::string policyMetricCsv(const TraceDocument& document, const std::string& policyId,
                            const std::string& metric) {
    const PolicyView* found = document.policy(policyId);
    auto values = found != nullptr ? policyMetric(*found, metric) : std::vector<float>();
    const auto kvHeads = static_cast<std::size_t>(document.dimensions.kvHeads);
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (document.isLinear(static_cast<std::int64_t>(i / kvHeads))) {
            values[i] = kNothing; // no KV cache to keep anything of
        }
    }
    if (values.empty()) {
        throwUsage(fmt::format("{} has no \"{}\" of a policy \"{}\".", document.path.string(),
                               metric, policyId));
    }
    return headTable(document, {metric, policyId, std::move(values)});
}

std::string survivalCsv(const TraceDocument& document, const SurvivalQuery& query) {
    const SurvivalResult result = survival(document, query);
    std::string csv =
        firstLine(document, query.policyId) + "token,text,kind,image,x0,y0,x1,y1,share,role\n";
    for (std::size_t token = 0; token < result.share.size(); ++token) {
        // Where no head has a KV cache nothing was kept, and nothing evicted.
        const float share = result.heads > 0 ? result.share[token] : kNothing;
        csv += fmt::format("{},{},{},{}\n", tokenCells(document, token),
                           patchCells(document, token), csvCell(share), roleCell(document, token));
    }
    return csv;
}

std::string scatterCsv(const TraceDocument& document, const HeadScatter& scatter) {
    std::string csv = firstLine(document, scatter.policyId) + kScoreHeadings;
    for (const ScatterPoint& point : scatter.points) {
        csv += fmt::format("{},{},{},{},{}\n",
                           tokenCells(document, static_cast<std::size_t>(point.token)),
                           csvCell(point.importance), csvCell(point.diversity),
                           csvCell(point.score), point.kept ? 1 : 0);
    }
    return csv;
}

std::string tokenSeriesCsv(const TraceDocument& document, const TokenSeries& series) {
    std::string csv = firstLine(document, series.policyId) + kScoreHeadings;
    const bool cached = !document.isLinear(series.layer);
    for (std::size_t token = 0; token < series.kept.size(); ++token) {
        csv += fmt::format("{},{},{},{},{}\n", tokenCells(document, token),
                           csvCell(series.importance[token]), csvCell(series.diversity[token]),
                           csvCell(series.score[token]),
                           csvCell(cached ? static_cast<float>(series.kept[token]) : kNothing));
    }
    return csv;
}

} // namespace ecokv::analysis
