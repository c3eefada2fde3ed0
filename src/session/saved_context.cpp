// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/saved_context.h"

#include "base/error.h"
#include "session/trace_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace ecokv::session {

namespace {

namespace fs = std::filesystem;

std::string textOf(const trace::Attributes& attributes, const char* name) {
    return trace::attributeOr<std::string>(attributes, name, "");
}

void appendRows(const TensorView& rows, std::vector<std::byte>& bytes) {
    const std::size_t begin = bytes.size();
    bytes.resize(begin + static_cast<std::size_t>(rows.numel()) * dtypeSize(rows.dtype));
    kernels::copyToContiguous(rows, bytes.data() + begin, Device{});
}

trace::CacheLayer layerOf(const cache::KvCache& cache, LayerId layer, const QueryWindow& window) {
    trace::CacheLayer content;
    for (std::int32_t head = 0; head < cache.shape().kvHeads; ++head) {
        appendRows(cache.keys(layer, HeadId{head}), content.keys);
        appendRows(cache.values(layer, HeadId{head}), content.values);
        const auto positions = cache.positions(layer, HeadId{head});
        content.positions.emplace_back(positions.begin(), positions.end());
    }
    for (std::int64_t row = 0; row < window.rows(); ++row) {
        appendRows(window.queries().slice(1, row, row + 1), content.windowQueries);
    }
    content.windowPositions.assign(window.positions().begin(), window.positions().end());
    return content;
}

void restoreLayer(cache::KvCache& cache, LayerId layer, trace::CacheLayer& content,
                  std::int64_t seen) {
    const cache::CacheShape& shape = cache.shape();
    const std::size_t rowBytes = static_cast<std::size_t>(shape.headDim) * dtypeSize(shape.dtype);
    std::vector<cache::HeadRows> heads;
    std::size_t offset = 0;
    for (const auto& positions : content.positions) {
        const std::int64_t rows = std::ssize(positions);
        const auto view = [&](std::vector<std::byte>& bytes) {
            return TensorView::contiguous(bytes.data() + offset, shape.dtype,
                                          {rows, shape.headDim});
        };
        heads.push_back({view(content.keys), view(content.values), positions});
        offset += positions.size() * rowBytes;
    }
    cache.restoreLayer(layer, heads, seen);
}

QueryWindow windowOf(trace::CacheLayer& content, const trace::CacheRecord& record) {
    const std::int64_t rows = std::ssize(content.windowPositions);
    QueryWindow window(rows);
    TensorView queries = TensorView::contiguous(content.windowQueries.data(), record.dtype,
                                                {record.heads, rows, record.headDim});
    queries.strides = {record.headDim, record.heads * record.headDim, 1, 0}; // [row, head, dim]
    window.append(queries, content.windowPositions);
    return window;
}

/// The checksums of a model cover its configuration and the names and shapes of its weights, not
/// their numbers; what it answers to three fixed tokens does. Some entries of the logits.
std::vector<float> probeOf(model::Model& model) {
    constexpr std::size_t kEntries = 64;
    const std::vector<TokenId> tokens{0, 1, 2};
    cache::KvCache cache(model.cacheShape());
    const std::vector<float> logits = model.extend(tokens, cache, nullptr, {}, {});
    std::vector<float> probe;
    for (std::size_t i = 0; i < kEntries; ++i) {
        probe.push_back(logits[i * logits.size() / kEntries]);
    }
    return probe;
}

/// Equal but for the rounding of another device, dtype or number of threads.
bool isSameProbe(const std::vector<float>& saved, const std::vector<float>& own) {
    constexpr double kTolerance = 0.05;
    if (saved.size() != own.size()) {
        return false;
    }
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
        largest = std::max(largest, std::abs(static_cast<double>(own[i])));
        difference = std::max(difference, std::abs(static_cast<double>(own[i]) - saved[i]));
    }
    return difference <= kTolerance * largest; // written so that NaN differs
}

/// Keys of one model mean nothing to another, whatever its shape.
void checkBelongs(const fs::path& path, const trace::CacheRecord& record, model::Model& model) {
    const model::ModelInfo& info = model.info();
    const cache::CacheShape shape = model.cacheShape();
    const bool sameFiles = textOf(record.model, "config_sha256") == info.configSha256 &&
                           textOf(record.model, "weights_sha256") == info.weightsSha256;
    const bool sameShape = record.layers == shape.layers && record.heads == info.heads &&
                           record.kvHeads == shape.kvHeads && record.headDim == shape.headDim;
    if (!sameFiles || !sameShape) {
        throwBadInput(
            fmt::format("{} holds a cache of {} ({} layers x {} KV heads x {} dims), but {} is "
                        "open ({} x {} x {}){}.",
                        path.string(), textOf(record.model, "name"), record.layers, record.kvHeads,
                        record.headDim, info.name, shape.layers, shape.kvHeads, shape.headDim,
                        sameShape ? "; their files differ" : ""),
            "Open the model that the cache was made with.");
    }
    if (record.dtype != shape.dtype) {
        throwBadInput(
            fmt::format("{} holds keys as {}, but the model computes in {}.", path.string(),
                        dtypeName(record.dtype), dtypeName(shape.dtype)),
            fmt::format("Run with --dtype {}.", record.dtype == DType::BF16 ? "bf16" : "f32"));
    }
    if (!isSameProbe(record.probe, probeOf(model))) {
        throwBadInput(fmt::format("{} was made with other weights than those of {}, though the "
                                  "files look alike.",
                                  path.string(), info.path),
                      "Open the model that the cache was made with.");
    }
}

} // namespace

trace::CacheRecord contextRecord(model::Model& model, const model::Prompt& prompt,
                                 const policy::ResolvedPolicy& policy,
                                 const cache::KvCache& cache) {
    const cache::CacheShape shape = model.cacheShape();
    trace::CacheRecord record;
    record.layers = shape.layers;
    record.heads = model.info().heads;
    record.kvHeads = shape.kvHeads;
    record.headDim = shape.headDim;
    record.dtype = shape.dtype;
    record.tokensSeen = prompt.tokens();
    record.imageTokens = prompt.imageTokens();
    record.positionShift = cache.positionShift();
    record.ropePositions.assign(cache.ropePositions().begin(), cache.ropePositions().end());
    record.model = modelRecord(model.info()).attributes;
    record.probe = probeOf(model);
    record.policy = policyAttributes(policy);
    record.producer = producerName();
    record.promptText = promptRecord(prompt).text;
    record.tokenIds.assign(prompt.tokenIds.begin(), prompt.tokenIds.end());
    record.questionTail = prompt.questionTail;
    return record;
}

void saveContext(const fs::path& path, const trace::CacheRecord& record,
                 const cache::KvCache& cache, const QueryWindows& windows) {
    trace::writeCacheFile(path, record, [&](std::int64_t index) {
        const LayerId layer{static_cast<std::int32_t>(index)};
        return layerOf(cache, layer, windows.at(layer.index()));
    });
}

SavedContext loadContext(const fs::path& path, model::Model& model) {
    const trace::CacheFileReader reader(path);
    checkBelongs(path, reader.record(), model);
    SavedContext context{cache::KvCache(model.cacheShape()), {}, reader.record()};
    for (std::int32_t layer = 0; layer < context.cache.shape().layers; ++layer) {
        trace::CacheLayer content = reader.layer(layer);
        restoreLayer(context.cache, LayerId{layer}, content, context.record.tokensSeen);
        context.windows.push_back(windowOf(content, context.record));
    }
    context.cache.setRopePositions(context.record.ropePositions);
    context.cache.setPositionShift(context.record.positionShift);
    return context;
}

} // namespace ecokv::session
