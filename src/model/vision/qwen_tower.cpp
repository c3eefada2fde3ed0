// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/vision/qwen_tower.h"

#include "base/error.h"
#include "model/tensor_rows.h"
#include "model/vision/patch_positions.h"

#include <fmt/format.h>

#include <algorithm>

namespace ecokv::model {

namespace {

constexpr double kNormEpsilon = 1e-6;
constexpr std::int64_t kMlpRows = 4096; // bounds the inner states of a large picture

at::Tensor normed(const std::variant<LayerNorm, RmsNorm>& norm, const at::Tensor& x) {
    return std::visit([&](const auto& each) { return each(x); }, norm);
}

at::Tensor indexOf(const std::vector<std::int64_t>& values) {
    at::Tensor index =
        at::empty({static_cast<std::int64_t>(values.size())}, at::TensorOptions(c10::kLong));
    std::ranges::copy(values, index.data_ptr<std::int64_t>());
    return index;
}

std::vector<std::int64_t> inverseOf(const std::vector<std::int64_t>& order) {
    std::vector<std::int64_t> inverse(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    }
    return inverse;
}

bool isIn(const std::vector<std::int32_t>& layers, std::int32_t layer) {
    return std::ranges::find(layers, layer) != layers.end();
}

/// x [patch, ...] with the patches of each image token moved together.
at::Tensor reordered(const at::Tensor& x, const at::Tensor& order) {
    const std::int64_t tokens = order.size(0);
    return x.view({tokens, x.size(0) / tokens, x.size(1)})
        .index_select(0, order)
        .view({x.size(0), x.size(1)});
}

} // namespace

QwenTower::QwenTower(QwenTowerConfig config, const std::string& prefix, WeightLoader& loader)
    : m_config(std::move(config)) {
    const std::int64_t hidden = m_config.hidden, patch = m_config.patchSize;
    const std::string embedding = prefix + "patch_embed.proj.";
    // A convolution as large as its patch is a linear map: both frames of a patch count (F071).
    const at::Tensor kernel =
        loader.take(embedding + "weight", {hidden, 3, m_config.temporalPatchSize, patch, patch});
    m_patchEmbedding.weight = kernel.defined() ? kernel.flatten(1) : kernel;
    if (m_config.positionSide > 0) {
        m_patchEmbedding.bias = loader.take(embedding + "bias", {hidden});
        m_positions =
            loader.take(prefix + "pos_embed.weight",
                        {std::int64_t{m_config.positionSide} * m_config.positionSide, hidden});
    }
    for (std::int32_t i = 0; i < m_config.layers; ++i) {
        m_layers.push_back(takeLayer(fmt::format("{}blocks.{}.", prefix, i), loader));
    }
    m_merger = takeMerger(prefix + "merger.", false, loader);
    for (std::size_t i = 0; i < m_config.deepstackLayers.size(); ++i) {
        m_deepstack.push_back(
            takeMerger(fmt::format("{}deepstack_merger_list.{}.", prefix, i), true, loader));
    }
}

QwenTower::Norm QwenTower::takeNorm(const std::string& name, std::int64_t width,
                                    WeightLoader& loader) const {
    if (m_config.gated) {
        return loader.takeRmsNorm(name, width, kNormEpsilon);
    }
    return loader.takeLayerNorm(name, width, kNormEpsilon);
}

QwenTower::Layer QwenTower::takeLayer(const std::string& prefix, WeightLoader& loader) const {
    const std::int64_t hidden = m_config.hidden, inner = m_config.intermediate;
    Layer layer{.attentionNorm = takeNorm(prefix + "norm1", hidden, loader),
                .mlpNorm = takeNorm(prefix + "norm2", hidden, loader),
                .queryKeyValue = loader.takeLinear(prefix + "attn.qkv", {3 * hidden, hidden}, true),
                .output = loader.takeLinear(prefix + "attn.proj", {hidden, hidden}, true),
                .gate = {},
                .up = loader.takeLinear(prefix + m_config.names.up, {inner, hidden}, true),
                .down = loader.takeLinear(prefix + m_config.names.down, {hidden, inner}, true)};
    if (m_config.gated) {
        layer.gate = loader.takeLinear(prefix + "mlp.gate_proj", {inner, hidden}, true);
    }
    return layer;
}

QwenTower::Merger QwenTower::takeMerger(const std::string& prefix, bool normsMerged,
                                        WeightLoader& loader) const {
    const std::int64_t hidden = m_config.hidden;
    const std::int64_t merged = hidden * m_config.mergeSize * m_config.mergeSize;
    const QwenTowerNames& names = m_config.names;
    return {.norm = takeNorm(prefix + names.mergerNorm, normsMerged ? merged : hidden, loader),
            .normsMerged = normsMerged,
            .in = loader.takeLinear(prefix + names.mergerIn, {merged, merged}, true),
            .out = loader.takeLinear(prefix + names.mergerOut, {m_config.output, merged}, true)};
}

PatchGrid QwenTower::gridOf(const PictureInput& picture) const {
    const PatchGrid grid{picture.grid[1], picture.grid[2], m_config.mergeSize};
    const bool whole = picture.grid[0] == 1 && grid.rows > 0 && grid.columns > 0 &&
                       grid.rows % grid.merge == 0 && grid.columns % grid.merge == 0;
    if (!whole ||
        picture.shape != std::vector<std::int64_t>{grid.patches(), m_config.patchValues()}) {
        throwInternal(fmt::format("The vision tower takes patches of {} values in a grid of whole "
                                  "image tokens of {} x {} patches.",
                                  m_config.patchValues(), grid.merge, grid.merge));
    }
    return grid;
}

at::Tensor QwenTower::embed(const at::Tensor& pixels, const PatchGrid& grid) const {
    const at::Tensor patches = m_patchEmbedding(pixels);
    return m_positions.defined() ? patches + interpolatedPositions(m_positions, grid) : patches;
}

at::Tensor QwenTower::attention(const Layer& layer, const at::Tensor& x, const RotaryTables& tables,
                                const std::vector<AttentionRun>& runs) const {
    const std::int64_t patches = x.size(0), heads = m_config.heads, dim = m_config.headDim();
    const at::Tensor projected = layer.queryKeyValue(x).view({patches, 3, heads, dim});
    const auto turned = [&](std::int64_t which) { // in f32, as the reference turns
        return rotate(projected.select(1, which).to(c10::kFloat), tables).to(x.scalar_type());
    };
    const at::Tensor queries = turned(0), keys = turned(1);
    const at::Tensor values = projected.select(1, 2).transpose(0, 1);
    std::vector<at::Tensor> mixed;
    std::int64_t begin = 0;
    for (const AttentionRun& run : runs) { // no mask: groups are separate entries of a batch
        const std::int64_t rows = run.count * run.patches;
        const auto groups = [&](const at::Tensor& all) {
            return all.narrow(1, begin, rows)
                .unflatten(1, {run.count, run.patches})
                .transpose(0, 1);
        };
        mixed.push_back(
            at::scaled_dot_product_attention(groups(queries), groups(keys), groups(values))
                .transpose(1, 2)
                .reshape({rows, heads * dim}));
        begin += rows;
    }
    return layer.output(mixed.size() == 1 ? mixed.front() : at::cat(mixed));
}

void QwenTower::addMlp(const Layer& layer, at::Tensor& x) const {
    for (std::int64_t begin = 0; begin < x.size(0); begin += kMlpRows) {
        at::Tensor rows = rowsFrom(x, 0, begin, std::min(kMlpRows, x.size(0) - begin));
        const at::Tensor in = normed(layer.mlpNorm, rows);
        at::Tensor inner =
            activate(m_config.activation, m_config.gated ? layer.gate(in) : layer.up(in));
        if (m_config.gated) {
            inner.mul_(layer.up(in));
        }
        rows.add_(layer.down(inner));
    }
}

at::Tensor QwenTower::merge(const Merger& merger, const at::Tensor& x) const {
    const std::int64_t width = m_config.hidden * m_config.mergeSize * m_config.mergeSize;
    const at::Tensor rows = merger.normsMerged ? normed(merger.norm, x.view({-1, width}))
                                               : normed(merger.norm, x).view({-1, width});
    return merger.out(activate(Activation::Gelu, merger.in(rows)));
}

std::int64_t QwenTower::workingBytes(const PictureInput& picture, std::int64_t valueBytes) const {
    const std::int64_t patches = picture.shape.front(), hidden = m_config.hidden;
    const std::int64_t tokens = patches / (m_config.mergeSize * m_config.mergeSize);
    const std::int64_t floats = 4;
    // Row, norm, query, key and value together, turned query and key; keys turn in f32.
    const std::int64_t attending = patches * hidden * (7 * valueBytes + 2 * floats);
    const bool three = !m_config.gated && m_config.activation == Activation::QuickGelu;
    const std::int64_t inner = 2 * hidden + (three ? 3 : 2) * m_config.intermediate;
    const std::int64_t mlp = (patches * hidden + std::min(patches, kMlpRows) * inner) * valueBytes;
    const std::int64_t deep = std::ssize(m_config.deepstackLayers) * tokens * m_config.output;
    return std::max(attending, mlp) + deep * valueBytes;
}

VisionFeatures QwenTower::encode(const at::Tensor& pixels, const PictureInput& picture,
                                 const std::function<void()>& afterLayer) const {
    const PatchGrid grid = gridOf(picture);
    at::Tensor x = embed(pixels, grid);
    RotaryTables tables = patchRotary(grid, m_config.headDim(), x.device());
    const std::vector<AttentionRun> whole{{1, grid.patches()}};
    PatchWindows windows;
    if (m_config.windowSide > 0) {
        windows = windowsOf(grid, m_config.windowSide);
        const at::Tensor order = indexOf(windows.order).to(x.device());
        x = reordered(x, order);
        tables = {reordered(tables.cosine, order), reordered(tables.sine, order)};
    }
    VisionFeatures features;
    for (std::int32_t i = 0; i < m_config.layers; ++i) {
        const Layer& layer = m_layers[static_cast<std::size_t>(i)];
        const bool seesAll = m_config.windowSide == 0 || isIn(m_config.fullLayers, i);
        x.add_(attention(layer, normed(layer.attentionNorm, x), tables,
                         seesAll ? whole : windows.runs));
        addMlp(layer, x);
        const auto deep = std::ranges::find(m_config.deepstackLayers, i);
        if (deep != m_config.deepstackLayers.end()) {
            features.deepstack.push_back(
                merge(m_deepstack[deep - m_config.deepstackLayers.begin()], x));
        }
        afterLayer();
    }
    features.rows = merge(m_merger, x);
    if (m_config.windowSide > 0) {
        features.rows =
            features.rows.index_select(0, indexOf(inverseOf(windows.order)).to(x.device()));
    }
    return features;
}

} // namespace ecokv::model
