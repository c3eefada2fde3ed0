// SPDX-License-Identifier: GPL-3.0-or-later
#include "support/synthetic_trace.h"

#include "base/float_convert.h"
#include "trace/trace_writer.h"

#include <cmath>
#include <numeric>

namespace ecokv::test {

namespace {

/// SplitMix64 as a counter: element i of a stream is a function of i.
float noise(std::uint64_t stream, std::uint64_t index) {
    std::uint64_t state = stream + index * 0x9e3779b97f4a7c15ULL;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9ULL;
    state = (state ^ (state >> 27)) * 0x94d049bb133111ebULL;
    state ^= state >> 31;
    const auto low = static_cast<float>(state & 0xFFFFFF) * 0x1.0p-24F;
    const auto high = static_cast<float>(state >> 40) * 0x1.0p-24F;
    return 2.0F * (low + high - 1.0F); // triangular around 0
}

void store(const TensorView& view, std::int64_t index, float value) {
    if (view.dtype == DType::F32) {
        view.as<float>()[index] = value;
    } else {
        view.as<std::uint16_t>()[index] =
            view.dtype == DType::BF16 ? floatToBf16(value) : floatToF16(value);
    }
}

/// rows [head, row, dim]: `common` times a direction of the head plus noise.
void fill(const TensorView& rows, std::uint64_t stream, float common) {
    const std::int64_t perHead = rows.shape[1] * rows.shape[2];
    for (std::int64_t head = 0; head < rows.shape[0]; ++head) {
        const std::uint64_t own = (stream << 20) + static_cast<std::uint64_t>(head) * 977;
        for (std::int64_t i = 0; i < perHead; ++i) {
            const auto dim = static_cast<std::uint64_t>(i % rows.shape[2]);
            const float value =
                common * noise(own ^ 0x5555, dim) + noise(own, static_cast<std::uint64_t>(i));
            store(rows, head * perHead + i, value);
        }
    }
}

} // namespace

void fillSyntheticLayer(const SyntheticOptions& options, std::int64_t index,
                        SyntheticLayer& layer) {
    const trace::Dimensions& d = options.dimensions;
    const auto stream = static_cast<std::uint64_t>(index) * 3 + 1;
    layer.keys = trace::RawTensor(options.dtype, d.kvHeads, d.tokens, d.headDim);
    layer.queries = trace::RawTensor(options.dtype, d.heads, d.window, d.headDim);
    fill(layer.keys.view(), stream, 0.3F + 0.2F * static_cast<float>(index % 4));
    fill(layer.queries.view(), stream + 1, 0.8F);
    if (options.values) {
        layer.values = trace::RawTensor(options.dtype, d.kvHeads, d.tokens, d.headDim);
        fill(layer.values.view(), stream + 2, 0.1F);
    }
    layer.positions.resize(static_cast<std::size_t>(d.tokens));
    std::iota(layer.positions.begin(), layer.positions.end(), 0);
    layer.windowPositions.assign(layer.positions.end() - d.window, layer.positions.end());
    layer.inverseFrequencies.clear();
    for (std::int64_t i = 0; i < d.headDim; i += 2) {
        const float exponent = static_cast<float>(i) / static_cast<float>(d.headDim);
        layer.inverseFrequencies.push_back(1.0F / static_cast<float>(std::pow(10000.0, exponent)));
    }
    layer.rotation = {kernels::RopeStyle::Half, layer.inverseFrequencies.data(),
                      layer.positions.data(), 1.0F};
    layer.input = {.layer = LayerId{static_cast<std::int32_t>(index)},
                   .keys = layer.keys.view(),
                   .values = layer.values.view(),
                   .windowQueries = layer.queries.view(),
                   .positions = layer.positions,
                   .windowPositions = layer.windowPositions,
                   .rotation = options.rotation ? &layer.rotation : nullptr};
}

std::filesystem::path writeSyntheticTrace(const std::filesystem::path& path,
                                          const SyntheticOptions& options) {
    trace::WriterOptions writing;
    writing.path = path;
    writing.dimensions = options.dimensions;
    writing.tensorDType = options.dtype;
    writing.recordValues = options.values;
    writing.producer = "synthetic";
    writing.linearLayers = options.linearLayers;
    trace::TraceWriter writer(writing);
    trace::ModelRecord model;
    model.attributes = {{"name", std::string("synthetic")}};
    if (options.rotation) {
        model.attributes["rope_theta"] = 10000.0;
        model.attributes["rope_style"] = std::string("half");
    }
    model.linearLayers = options.linearLayers;
    model.slidingWindows = options.slidingWindows;
    writer.writeModel(model);
    SyntheticLayer layer;
    for (std::int64_t index = 0; index < options.dimensions.layers; ++index) {
        const auto at = static_cast<std::size_t>(index);
        if (at < options.linearLayers.size() && options.linearLayers[at] != 0) {
            continue;
        }
        fillSyntheticLayer(options, index, layer);
        writer.writeLayer({.layer = index,
                           .keys = layer.keys.view(),
                           .values = layer.values.view(),
                           .windowQueries = layer.queries.view(),
                           .heads = {},
                           .scores = {}});
    }
    writer.close();
    return path;
}

} // namespace ecokv::test
