// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/similarity_table.h"

#include "analysis/csv_text.h"
#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ecokv::analysis {

namespace {

void checkRequest(const SimilarityRequest& request, std::int64_t tokens) {
    if (request.rows < 1 || request.rows > kMostSimilarityRows) {
        throwUsage(fmt::format("A similarity table of {} rows was asked for; it has 1 to {}.",
                               request.rows, kMostSimilarityRows),
                   "Look at fewer tokens to see them closer.");
    }
    if (request.firstToken < 0 || request.firstToken >= request.endToken ||
        request.endToken > tokens) {
        throwUsage(fmt::format("Tokens {}:{} are no range of the trace's tokens 0:{} (the end is "
                               "not included).",
                               request.firstToken, request.endToken, tokens));
    }
}

std::int64_t countNotFinite(const std::vector<float>& keys, std::int64_t dim) {
    std::int64_t count = 0;
    for (auto key = keys.begin(); key != keys.end(); key += dim) {
        count += std::all_of(key, key + dim, [](float x) { return std::isfinite(x); }) ? 0 : 1;
    }
    return count;
}

} // namespace

std::int64_t SimilarityTable::lastToken(std::size_t row) const {
    return std::min(firstToken[row] + blockTokens, request.endToken) - 1;
}

SimilarityTable similarityTable(const trace::TraceReader& reader,
                                const SimilarityRequest& request) {
    const trace::Dimensions& d = reader.dimensions();
    SimilarityTable table;
    table.request = request;
    if (request.endToken == -1) {
        table.request.endToken = d.tokens;
    }
    checkRequest(table.request, d.tokens);
    std::vector<float> keys = reader.keys(request.layer, request.kvHead);
    keys.resize(static_cast<std::size_t>(table.request.endToken * d.headDim));
    keys.erase(keys.begin(), keys.begin() + request.firstToken * d.headDim);
    table.notFinite = countNotFinite(keys, d.headDim);
    const SimilarityPyramid pyramid(std::move(keys), d.headDim);
    const int level = pyramid.levelFor(request.rows);
    const std::int64_t rows = pyramid.blocks(level);
    table.blockTokens = std::int64_t{1} << level;
    for (std::int64_t row = 0; row < rows; ++row) {
        table.firstToken.push_back(request.firstToken + row * table.blockTokens);
    }
    table.values =
        pyramid.tiles({.metric = request.metric, .level = level, .rows = rows, .columns = rows});
    return table;
}

std::string similarityCsv(const std::string& provenance, const SimilarityTable& table) {
    const bool cosine = table.request.metric == SimilarityMetric::Cosine;
    std::string csv =
        fmt::format("# {}; layer {} KV head {}, {} of two keys, mean over blocks of {} token(s)",
                    csvComment(provenance), table.request.layer, table.request.kvHead,
                    cosine ? "cosine" : "squared Euclidean distance", table.blockTokens);
    if (table.notFinite > 0) {
        csv += fmt::format(", {} key(s) that are not finite count as zero", table.notFinite);
    }
    csv += "\nfirst_token,last_token";
    for (const std::int64_t first : table.firstToken) {
        csv += fmt::format(",{}", first);
    }
    csv += "\n";
    const std::size_t count = table.firstToken.size();
    for (std::size_t row = 0; row < count; ++row) {
        csv += fmt::format("{},{}", table.firstToken[row], table.lastToken(row));
        for (std::size_t column = 0; column < count; ++column) {
            csv += "," + csvCell(table.values[row * count + column]);
        }
        csv += "\n";
    }
    return csv;
}

} // namespace ecokv::analysis
