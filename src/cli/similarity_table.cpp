// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/similarity_table.h"

#include "analysis/similarity_table.h"
#include "base/error.h"
#include "cli/csv_file.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace ecokv::cli {

namespace {

analysis::SimilarityMetric metricOf(const SimilarityOptions& options) {
    const std::string name = options.metric.value_or("cosine");
    if (name == "cosine") {
        return analysis::SimilarityMetric::Cosine;
    }
    if (name == "euclid") {
        return analysis::SimilarityMetric::SquaredDistance;
    }
    throwUsage(fmt::format("The similarity metric \"{}\" does not exist.", name),
               "Choose cosine or euclid.");
}

/// "A:B".
std::pair<std::int64_t, std::int64_t> tokensOf(const std::string& text) {
    const auto numberOf = [&](std::string_view part) {
        std::int64_t number = -1;
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
        if (error != std::errc() || end != part.data() + part.size() || number < 0) {
            throwUsage(fmt::format("\"{}\" is no range of tokens.", text),
                       "Write --tokens FIRST:END, as in 0:512; END is not included.");
        }
        return number;
    };
    const std::string_view whole = text;
    const std::size_t colon = whole.find(':');
    const bool missing = colon == std::string_view::npos;
    return {numberOf(whole.substr(0, colon)),
            numberOf(missing ? std::string_view() : whole.substr(colon + 1))};
}

} // namespace

void addSimilarityOptions(CLI::App& command, SimilarityOptions& options) {
    command.add_option("--similarity-csv", options.csv,
                       "Write the token x token similarity of --layer and --head, pooled (*.csv)");
    command.add_option("--head", options.head, "KV head of --similarity-csv");
    command.add_option("--size", options.size,
                       fmt::format("Most rows of --similarity-csv (256; up to {})",
                                   analysis::kMostSimilarityRows));
    command.add_option("--metric", options.metric,
                       "Of --similarity-csv: cosine (default) or euclid (squared distance)");
    command.add_option("--tokens", options.tokens,
                       "FIRST:END of --similarity-csv, END not included (default: all)");
}

void checkSimilarityOptions(const SimilarityOptions& options, std::int64_t layer) {
    if (options.csv.empty()) {
        if (options.head || options.size || options.metric || options.tokens) {
            throwUsage("--head, --size, --metric and --tokens belong to --similarity-csv, which "
                       "was not given.",
                       "Add --similarity-csv FILE.csv.");
        }
        return;
    }
    if (layer < 0 || !options.head) {
        throwUsage("--similarity-csv shows one head, and --layer or --head was not given.",
                   "Add both, as in --layer 2 --head 0.");
    }
    metricOf(options);
    if (options.tokens) {
        tokensOf(*options.tokens);
    }
}

void writeSimilarity(const SimilarityOptions& options, std::int64_t layer,
                     const analysis::TraceDocument& document) {
    if (options.csv.empty()) {
        return;
    }
    analysis::SimilarityRequest request;
    request.layer = layer;
    request.kvHead = options.head.value_or(0);
    request.metric = metricOf(options);
    request.rows = options.size.value_or(request.rows);
    if (options.tokens) {
        std::tie(request.firstToken, request.endToken) = tokensOf(*options.tokens);
    }
    const auto table = analysis::similarityTable(*document.reader, request);
    writeCsv(options.csv, analysis::similarityCsv(document.provenance(), table));
}

} // namespace ecokv::cli
