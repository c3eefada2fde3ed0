#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The data behind each figure as CSV text: a header line, points as decimal separators in every
// locale (field cases F155, F156), one `# provenance` line first.

#include "analysis/head_scatter.h"
#include "analysis/survival.h"
#include "analysis/token_series.h"
#include "analysis/trace_document.h"

#include <string>

namespace ecokv::analysis {

/// layer,kv_head,<metric>
std::string headMetricCsv(const TraceDocument& document, const std::string& metric);
/// The same for a policy's kept_budget, output_error or retained_mass.
std::string policyMetricCsv(const TraceDocument& document, const std::string& policyId,
                            const std::string& metric);
/// token,text,kind,image,x0,y0,x1,y1,share,role; no share in a layer without a KV cache
std::string survivalCsv(const TraceDocument& document, const SurvivalQuery& query);
/// token,text,kind,importance,diversity,score,kept
std::string scatterCsv(const TraceDocument& document, const HeadScatter& scatter);
/// token,text,kind,importance,diversity,score,kept: every token, protected ones with empty scores,
/// those of a layer without a KV cache with nothing
std::string tokenSeriesCsv(const TraceDocument& document, const TokenSeries& series);

} // namespace ecokv::analysis
