// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/token_series.h"

#include "analysis/survival.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ecokv::analysis {

namespace {

/// A run of tokens that share a column of the screen: [begin, end).
struct Column {
    std::int64_t begin = 0, end = 0;

    double at(double fraction) const {
        return static_cast<double>(begin) - 0.5 + fraction * static_cast<double>(end - begin);
    }
};

/// first .. last cut into at most `columns` runs of equal length; one token each if they fit twice.
/// Runs begin at multiples of their length, so that nothing flickers while the view pans.
std::vector<Column> columnsOf(std::int64_t size, std::int64_t first, std::int64_t last,
                              std::int64_t columns) {
    const std::int64_t begin = std::max<std::int64_t>(first, 0);
    const std::int64_t end = std::min(last + 1, size);
    std::vector<Column> runs;
    if (begin >= end) {
        return runs;
    }
    const std::int64_t fit = std::max<std::int64_t>(columns, 1);
    const std::int64_t count = end - begin;
    const std::int64_t length = count <= 2 * fit ? 1 : (count + fit - 1) / fit;
    for (std::int64_t at = begin; at < end;) {
        const std::int64_t next = std::min((at / length + 1) * length, end);
        runs.push_back({at, next});
        at = next;
    }
    return runs;
}

} // namespace

TokenSeries tokenSeries(const TraceDocument& document, const std::string& policyId,
                        std::int64_t layer, std::int64_t kvHead) {
    TokenSeries series;
    series.policyId = policyId;
    series.layer = layer;
    series.kvHead = kvHead;
    const auto share = survival(document, {policyId, SurvivalMode::Head, layer, kvHead}).share;
    series.kept.reserve(share.size());
    for (const float value : share) {
        series.kept.push_back(value > 0 ? 1 : 0);
    }
    series.importance = document.reader->scores("importance", layer, kvHead);
    series.diversity = document.reader->scores("diversity", layer, kvHead);
    series.score = document.reader->scores("score", layer, kvHead);
    if (document.prompt) {
        series.images = imageSpans(document.prompt->imageIndex);
    }
    return series;
}

std::vector<ImageSpan> imageSpans(std::span<const std::int32_t> imageIndex) {
    std::vector<ImageSpan> spans;
    for (std::size_t i = 0; i < imageIndex.size(); ++i) {
        const std::int32_t image = imageIndex[i];
        const auto token = static_cast<std::int64_t>(i);
        if (image < 0) {
            continue;
        }
        const auto found = std::find_if(spans.begin(), spans.end(), [image](const ImageSpan& span) {
            return span.image == image;
        });
        if (found == spans.end()) {
            spans.push_back({image, token, token});
        } else {
            found->last = token; // separators between the rows of a picture belong to it
        }
    }
    return spans;
}

std::vector<SeriesPoint> reduceSeries(std::span<const float> values, std::int64_t first,
                                      std::int64_t last, std::int64_t columns) {
    std::vector<SeriesPoint> points;
    for (const Column& run :
         columnsOf(static_cast<std::int64_t>(values.size()), first, last, columns)) {
        const auto begin = static_cast<std::size_t>(run.begin);
        if (run.end - run.begin == 1) {
            points.push_back({static_cast<double>(run.begin), static_cast<double>(values[begin])});
            continue;
        }
        float low = std::numeric_limits<float>::infinity(), high = -low;
        for (std::size_t i = begin; i < static_cast<std::size_t>(run.end); ++i) {
            if (std::isfinite(values[i])) {
                low = std::min(low, values[i]);
                high = std::max(high, values[i]);
            }
        }
        if (low > high) {
            points.push_back({run.at(0.5), std::numeric_limits<double>::quiet_NaN()});
        } else {
            points.push_back({run.at(0.25), static_cast<double>(low)});
            points.push_back({run.at(0.75), static_cast<double>(high)});
        }
    }
    return points;
}

std::vector<SeriesPoint> reduceFlags(std::span<const std::uint8_t> flags, std::int64_t first,
                                     std::int64_t last, std::int64_t columns) {
    std::vector<SeriesPoint> points;
    for (const Column& run :
         columnsOf(static_cast<std::int64_t>(flags.size()), first, last, columns)) {
        const auto set = std::count_if(flags.begin() + run.begin, flags.begin() + run.end,
                                       [](std::uint8_t flag) { return flag != 0; });
        if (set > 0) {
            points.push_back(
                {run.at(0.5), static_cast<double>(set) / static_cast<double>(run.end - run.begin)});
        }
    }
    return points;
}

} // namespace ecokv::analysis
