#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The vision tower of Qwen2-VL (arXiv 2409.12191), Qwen2.5-VL (2502.13923) and Qwen3-VL: pictures
// of any size, positions by row and column, neighbouring patches merged into one image token. What
// the versions do differently are settings.

#include "model/aten.h"
#include "model/decoder/rotary.h"
#include "model/image/patch_grid.h"
#include "model/layers.h"
#include "model/vision/patch_windows.h"
#include "model/vision/qwen_tower_config.h"
#include "model/vision/vision_encoder.h"
#include "model/weight_loader.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace ecokv::model {

class QwenTower final : public VisionEncoder {
public:
    /// `prefix` ends in a dot: "model.visual.".
    QwenTower(QwenTowerConfig config, const std::string& prefix, WeightLoader& loader);

    std::int64_t steps(const PictureInput& /*picture*/) const override { return m_config.layers; }
    std::int64_t workingBytes(const PictureInput& picture, std::int64_t valueBytes) const override;
    VisionFeatures encode(const at::Tensor& pixels, const PictureInput& picture,
                          const std::function<void()>& afterLayer) const override;

private:
    using Norm = std::variant<LayerNorm, RmsNorm>;
    struct Layer {
        Norm attentionNorm, mlpNorm;
        Linear queryKeyValue, output, gate, up, down;
    };
    struct Merger {
        Norm norm;
        bool normsMerged = false; ///< behind the merge, not before
        Linear in, out;
    };

    Norm takeNorm(const std::string& name, std::int64_t width, WeightLoader& loader) const;
    Layer takeLayer(const std::string& prefix, WeightLoader& loader) const;
    Merger takeMerger(const std::string& prefix, bool normsMerged, WeightLoader& loader) const;
    PatchGrid gridOf(const PictureInput& picture) const;
    at::Tensor embed(const at::Tensor& pixels, const PatchGrid& grid) const;
    at::Tensor attention(const Layer& layer, const at::Tensor& x, const RotaryTables& tables,
                         const std::vector<AttentionRun>& runs) const;
    void addMlp(const Layer& layer, at::Tensor& x) const;
    at::Tensor merge(const Merger& merger, const at::Tensor& x) const;

    QwenTowerConfig m_config;
    Linear m_patchEmbedding; ///< [hidden, channel * time * row * column]
    at::Tensor m_positions;  ///< [positionSide^2, hidden] or undefined
    std::vector<Layer> m_layers;
    Merger m_merger;
    std::vector<Merger> m_deepstack; ///< as deepstackLayers
};

} // namespace ecokv::model
