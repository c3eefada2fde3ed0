#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Layers of random tensors that look like attention (keys around a mean direction, queries that
// look at a few of them), any size, the same on every machine; in memory and as a trace.

#include "policy/layer_scores.h"
#include "trace/raw_tensor.h"
#include "trace/trace_records.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace ecokv::test {

struct SyntheticOptions {
    trace::Dimensions dimensions{3, 4, 2, 90, 16, 40};
    DType dtype = DType::BF16;
    bool values = true;
    bool rotation = true;                        ///< /model says rope_theta 10000, half
    std::vector<std::uint8_t> linearLayers = {}; ///< [layer] 1 = not written: no KV cache
    std::vector<std::int64_t> slidingWindows = {};
};

/// The tensors of one layer and a LayerInput that views them.
struct SyntheticLayer {
    trace::RawTensor keys, values, queries;
    std::vector<std::int64_t> positions, windowPositions;
    std::vector<float> inverseFrequencies;
    kernels::Rotation rotation;
    policy::LayerInput input;
};

/// `layer` is filled; it must stay where it is as long as its input is used.
void fillSyntheticLayer(const SyntheticOptions& options, std::int64_t index, SyntheticLayer& layer);

/// Writes /model, /tensors and nothing else of interest.
std::filesystem::path writeSyntheticTrace(const std::filesystem::path& path,
                                          const SyntheticOptions& options);

} // namespace ecokv::test
