#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// From values of a trace to figures. No maths here: numbers come from analysis. Any thread; scores
// of a head are read from the file, so call scatter builders on a worker.

#include "analysis/head_scatter.h"
#include "analysis/image_tokens.h"
#include "analysis/survival.h"
#include "analysis/trace_document.h"
#include "ui/plots/cache_length_figure.h"
#include "ui/plots/head_map_figure.h"
#include "ui/plots/scatter_figure.h"
#include "ui/plots/survival_figure.h"
#include "ui/plots/token_text_figure.h"

#include <vector>

namespace ecokv::ui {

using DocumentPtr = std::shared_ptr<const analysis::TraceDocument>;

/// A metric that can be drawn as a head map.
struct HeadMetric {
    std::string name;     ///< "redundancy", "kept_budget", ...
    std::string policyId; ///< only for metrics of one policy, else ""
    QString label;        ///< for a list: "Redundancy (combined)"
    QString description;  ///< one sentence
};

/// What this trace can show, in the order of a list: head metrics first, then each policy's.
std::vector<HeadMetric> headMetrics(const analysis::TraceDocument& document);

/// Throws Error{Usage} naming the metric if the trace lacks it.
std::shared_ptr<const HeadMapFigure> headMapFigure(const DocumentPtr& document,
                                                   const HeadMetric& metric);

std::shared_ptr<const ScatterFigure> scatterFigure(const DocumentPtr& document,
                                                   const analysis::HeadScatter& scatter,
                                                   bool logImportance);

/// Whether the trace says how long the cache was while a policy answered.
bool hasCacheLengths(const analysis::TraceDocument& document, const std::string& policyId);
/// Throws Error{Usage} for an unknown policy or where no lengths were recorded.
std::shared_ptr<const CacheLengthFigure> cacheLengthFigure(const DocumentPtr& document,
                                                           const std::string& policyId);

/// `survival` is analysis::survival(document, query). Throws Error{Usage} for an unknown image.
struct SurvivalInput {
    DocumentPtr document;
    analysis::SurvivalQuery query;
    analysis::SurvivalResult survival;
    analysis::PatchView patches = analysis::PatchView::Tiles; ///< only of the pictures
};
std::shared_ptr<const SurvivalFigure> survivalFigure(const SurvivalInput& input,
                                                     std::size_t imageIndex);
std::shared_ptr<const TokenTextFigure> tokenTextFigure(const SurvivalInput& input);

/// Instead of data, where a layer has no KV cache: "Layer 3 has no KV cache (linear attention): it
/// keeps and evicts no token." -1 = all layers.
QString uncachedSentence(std::int64_t layer);
/// "layer 3, head 1", "layer 3, kept by any head", "all layers, share of heads".
QString describeScope(const analysis::SurvivalQuery& query);
/// A token as lists and tooltips show it: its text with visible blanks, "image 1, patch 17", or
/// "image 1, end of row 3"; patches, thumbnail patches, row ends and separators count apart.
QString tokenLabel(const analysis::TraceDocument& document, std::int64_t token);

} // namespace ecokv::ui
