#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What LLaVA-1.5 and LLaVA-NeXT have in common: tower and projector, and their settings.

#include "model/families/family.h"
#include "model/vision/clip_tower.h"
#include "model/vision/projector_mlp.h"
#include "model/vision/siglip_tower.h"
#include "model/vision/vision_config.h"
#include "model/vision/vision_encoder.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace ecokv::model {

struct LlavaParts {
    VisionConfig vision;
    ProjectorConfig projector;
    std::string configPath;

    /// Features of one square (field case F054).
    std::int32_t tokens() const { return vision.tokens() - (projector.dropsFirstToken ? 1 : 0); }
};

LlavaParts parseLlavaParts(const ConfigFile& file);
/// With what both families take from config.json in the same way; `family` is left to the caller.
ModelConfig llavaModelConfig(const ConfigFile& file, const LlavaParts& parts);

/// processor_config.json may state how many tokens a square takes; a different count than the
/// tower's would shift everything behind the picture (field case F054). Throws Error{BadInput}.
void compareImageTokenCounts(const std::filesystem::path& folder, const LlavaParts& parts);

/// From a square to rows of the decoder.
class LlavaSquares {
public:
    LlavaSquares(const LlavaParts& parts, std::int64_t hidden, WeightLoader& loader);

    /// pixels [3, side, side] to [LlavaParts::tokens(), hidden].
    at::Tensor encode(const at::Tensor& pixels, const std::function<void()>& afterLayer) const;
    std::int64_t layers() const;
    /// Values that encode() holds at once.
    std::int64_t workingValues() const;

private:
    std::variant<ClipVisionTower, SiglipTower> m_tower;
    std::vector<std::int32_t> m_wanted; ///< layers that features come from
    VisionConfig m_vision;
    std::int64_t m_hidden; ///< of the decoder
    ProjectorMlp m_projector;
};

} // namespace ecokv::model
