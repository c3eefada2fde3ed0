#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// One head's token x token similarity as a table of tiles that fits a wanted size: exact means over
// blocks of 2^n tokens, from a SimilarityPyramid.

#include "analysis/similarity_pyramid.h"
#include "trace/trace_reader.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ecokv::analysis {

constexpr std::int64_t kMostSimilarityRows = 2048; ///< the table has as many columns

struct SimilarityRequest {
    std::int64_t layer = 0, kvHead = 0;
    SimilarityMetric metric = SimilarityMetric::Cosine;
    std::int64_t firstToken = 0, endToken = -1; ///< end is not included; -1 = the last token
    std::int64_t rows = 256;                    ///< at most
};

struct SimilarityTable {
    SimilarityRequest request;            ///< endToken resolved
    std::int64_t blockTokens = 1;         ///< 2^n: the smallest that gives at most `rows` blocks
    std::vector<std::int64_t> firstToken; ///< [row] the last row may be shorter than the others
    std::vector<float> values;            ///< [row, column]
    std::int64_t notFinite = 0;           ///< keys that count as zero

    std::int64_t lastToken(std::size_t row) const; ///< included
};

/// Throws Error{Usage}: rows outside 1..kMostSimilarityRows, tokens, layers or heads that are not
/// there. Error{BadInput}: no keys.
SimilarityTable similarityTable(const trace::TraceReader& reader, const SimilarityRequest& request);

/// `provenance` and what the numbers are as a comment; a header `first_token,last_token,` and the
/// first token of each column; one line per row.
std::string similarityCsv(const std::string& provenance, const SimilarityTable& table);

} // namespace ecokv::analysis
