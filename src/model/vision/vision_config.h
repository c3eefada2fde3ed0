#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Settings of the CLIP and SigLIP vision transformers and of LLaVA's projector, as config.json has
// them.

#include "model/json_file.h"
#include "model/model_config.h"

#include <vector>

namespace ecokv::model {

struct VisionConfig {
    /// CLIP: a class token in front and a norm behind the embeddings. SigLIP: neither, but the
    /// patch embedding has a bias.
    bool isSiglip = false;
    std::int32_t hidden = 0, intermediate = 0, layers = 0, heads = 0;
    std::int32_t imageSize = 0, patchSize = 0; ///< pixels, square
    double layerNormEps = 1e-5;
    Activation activation = Activation::QuickGelu;

    std::int32_t headDim() const { return hidden / heads; }
    std::int32_t gridSide() const { return imageSize / patchSize; }
    std::int32_t patches() const { return gridSide() * gridSide(); }
    std::int32_t tokens() const { return patches() + (isSiglip ? 0 : 1); }
};

struct ProjectorConfig {
    Activation activation = Activation::Gelu;
    bool bias = true;
    /// Of vision_feature_layer, side by side: 0 = what the first layer gets, n = what layer n
    /// gives, never normed.
    std::vector<std::int32_t> encoderLayers;
    /// Select strategy "default" drops the first token whatever it is, "full" keeps it: with a
    /// tower that has no class token, "default" drops a patch, as the reference does (field case
    /// F054).
    bool dropsFirstToken = true;
};

/// What a missing key means: the defaults of a configuration class in transformers.
struct VisionDefaults {
    std::int32_t hidden, intermediate, layers, heads;
    std::int32_t imageSize, patchSize; ///< pixels, square
    double layerNormEps;
    const char* activation;
};

inline constexpr VisionDefaults kClipDefaults{768, 3072, 12, 12, 224, 32, 1e-5, "quick_gelu"};
inline constexpr VisionDefaults kSiglipDefaults{768, 3072, 12,   12,
                                                224, 16,   1e-6, "gelu_pytorch_tanh"};
/// Of LLaVA-1.5 without any vision_config.
inline constexpr VisionDefaults kLlavaTowerDefaults{1024, 4096, 24,   16,
                                                    336,  14,   1e-5, "quick_gelu"};

/// What the towers here have in common.
struct TowerShape {
    std::int32_t hidden = 0, heads = 0;
    std::int32_t imageSize = 0, patchSize = 0; ///< pixels, square
};

/// Throws Error{BadInput} where the channels under `key` are not 3.
void requireRgb(const JsonObject& vision, const char* key);
/// Throws Error{BadInput} where heads or patches do not fit, or pictures have not 3 channels.
void checkTowerShape(const JsonObject& vision, const TowerShape& tower);
/// `vision_config` of the whole config.json, whatever its model_type.
VisionConfig parseTower(const JsonObject& config, const VisionDefaults& defaults);
/// Defaults: those of the tower's type for a partial dictionary, the LLaVA-1.5 tower when there is
/// none.
VisionConfig parseVision(const JsonObject& config);
/// Of the whole config.json.
ProjectorConfig parseProjector(const JsonObject& config, const VisionConfig& vision);

/// A layer of `layers` as hidden_states of the reference is indexed; negative from the end.
std::int32_t encoderLayer(const JsonObject& config, const char* key, std::int64_t index,
                          std::int32_t layers);
/// vision_feature_select_strategy: true for "default", false for "full".
bool dropsFirstToken(const JsonObject& config);

} // namespace ecokv::model
