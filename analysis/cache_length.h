#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// How many tokens the heads of a cache hold while an answer is generated (field case F030), over
// the layers that count (LayerKinds).

#include "analysis/trace_document.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ecokv::analysis {

/// [step] tokens per KV head: kept + question + generated, the step's own token counted.
struct CacheLengths {
    std::vector<double> mean;
    std::vector<std::int64_t> longest;
    std::int64_t slidingLayers = 0; ///< left out

    bool empty() const { return mean.empty(); }
};

struct CacheLengthInput {
    std::span<const std::int32_t> keptLength; ///< [step, layer, kvHead]
    std::int64_t layers = 0, kvHeads = 0;
    LayerKinds kinds = {};
};
/// Empty where no layer has a KV cache.
CacheLengths cacheLengths(const CacheLengthInput& input);
/// Of a recorded answer; empty where the trace holds no lengths.
CacheLengths cacheLengths(const TraceDocument& document, const PolicyView& policy);

/// What held while the answer was generated, as the run recorded it ("every 16 tokens to 64").
struct DecodeBound {
    std::int64_t every = 0, budget = 0; ///< tokens

    /// The most a layer's heads hold on average: budget + every - 1.
    std::int64_t most() const { return budget + every - 1; }
};
/// Nothing for "prefill-only" and for other words.
std::optional<DecodeBound> decodeBound(const std::string& decodeEviction);
/// /run's attribute decode_eviction, "" if the trace has none.
std::string decodeEviction(const TraceDocument& document);

/// step,text,mean_tokens_per_head,longest_head
std::string cacheLengthCsv(const TraceDocument& document, const PolicyView& policy);

} // namespace ecokv::analysis
