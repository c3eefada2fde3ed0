#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The geometry of every head of a trace: what its run recorded, or measured here from /tensors/keys
// where a trace holds less (older ones, those of other programs), by the code of a live run.

#include "base/cancellation.h"
#include "base/progress.h"
#include "trace/trace_reader.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ecokv::analysis {

struct GeometryRequest {
    std::string policyId; ///< whose candidates are "all tokens" where keys are measured; "" = first
    bool spectra = true;
    ProgressSink progress = {};
    CancellationToken cancel = {};
};

struct GeometryTable {
    std::int64_t layers = 0, kvHeads = 0, dim = 0;
    /// Name as in /heads -> [layer, kvHead]; NaN for layers that were not recorded.
    std::map<std::string, std::vector<float>> metrics;
    /// spectrum, spectrum_pre -> [layer, kvHead, dim].
    std::map<std::string, std::vector<float>> spectra;
    bool measured = false; ///< from keys; else as recorded
    /// [layer] whether the summary speaks of its heads (LayerKinds::counted); empty = of all.
    std::vector<bool> counted = {};
    /// Layers whose keys hold NaN or Inf, ascending: NaN in metrics and spectra.
    std::vector<std::int64_t> notFinite = {};
    std::vector<std::string> notes; ///< what is missing and why

    bool has(const std::string& name) const { return metrics.contains(name); }
    bool counts(std::int64_t layer) const {
        return counted.empty() || counted.at(static_cast<std::size_t>(layer));
    }
    std::int64_t leftOut() const { return std::ranges::count(counted, false); }
    float value(const std::string& name, std::int64_t layer, std::int64_t kvHead) const;
};

/// Throws Error{BadInput} where neither metrics nor keys are recorded, Error{Cancelled}.
GeometryTable geometryTable(const trace::TraceReader& reader, const GeometryRequest& request = {});

} // namespace ecokv::analysis
