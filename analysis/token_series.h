#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What one head's scores are along the prompt, token by token, and how many of them fit on a
// screen. Reads the head's scores from the trace; otherwise values only, any thread.

#include "analysis/trace_document.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ecokv::analysis {

/// Tokens of one picture, first to last inclusive.
struct ImageSpan {
    std::int32_t image = 0;
    std::int64_t first = 0, last = 0;
};

struct TokenSeries {
    std::string policyId;
    std::int64_t layer = 0, kvHead = 0;
    std::vector<float> importance, diversity, score; ///< [token]; NaN = protected, no candidate
    std::vector<std::uint8_t> kept;                  ///< [token] 1 = survives
    std::vector<ImageSpan> images;                   ///< by first token
};

/// Throws Error{Usage} for an unknown policy, layer or head.
TokenSeries tokenSeries(const TraceDocument& document, const std::string& policyId,
                        std::int64_t layer, std::int64_t kvHead);

/// Where each picture lies in a prompt; imageIndex is [token], -1 = none.
std::vector<ImageSpan> imageSpans(std::span<const std::int32_t> imageIndex);

/// A point of a line over token positions; NaN breaks the line.
struct SeriesPoint {
    double position = 0, value = 0;
};

/// Tokens first .. last (inclusive, clamped) as at most about 2 * columns points. Up to two tokens
/// per column: the tokens themselves. More: smallest and largest finite value of each column, so
/// that no peak is lost and a NaN never hides its neighbours (field case F149); NaN only where a
/// whole column has no value.
std::vector<SeriesPoint> reduceSeries(std::span<const float> values, std::int64_t first,
                                      std::int64_t last, std::int64_t columns);

/// The same for flags: the share of set flags per column at the column's middle; columns without
/// one are left out.
std::vector<SeriesPoint> reduceFlags(std::span<const std::uint8_t> flags, std::int64_t first,
                                     std::int64_t last, std::int64_t columns);

} // namespace ecokv::analysis
