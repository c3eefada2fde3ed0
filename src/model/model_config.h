#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// config.json of a LLaVA-1.5 folder (CLIP tower, two-layer projector, Llama, Mistral or Qwen2
// decoder) as values,
// with the defaults transformers uses for missing keys. What we do not support is refused by name.

#include "base/ids.h"
#include "base/tensor_view.h"
#include "model/model_info.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ecokv::model {

enum class Activation : std::uint8_t { Silu, Gelu, GeluTanh, QuickGelu, Relu };

struct DecoderConfig {
    std::string family = "llama"; ///< or "mistral", "qwen2"
    std::int32_t vocabulary = 0, hidden = 0, intermediate = 0;
    std::int32_t layers = 0, heads = 0, kvHeads = 0, headDim = 0;
    std::int64_t maxPositions = 0;
    double rmsNormEps = 1e-6;
    Activation activation = Activation::Silu;
    bool queryKeyValueBias = false, outputBias = false; ///< of the attention's projections
    bool mlpBias = false;
    bool tiedEmbeddings = false; ///< the head is the embedding (field case F089)
    RopeSettings rope;
    std::vector<std::int64_t>
        slidingWindows; ///< [layer] tokens a layer sees, itself included; 0 = all
};

struct VisionConfig {
    std::int32_t hidden = 0, intermediate = 0, layers = 0, heads = 0;
    std::int32_t imageSize = 0, patchSize = 0; ///< pixels, square
    double layerNormEps = 1e-5;
    Activation activation = Activation::QuickGelu;

    std::int32_t headDim() const { return hidden / heads; }
    std::int32_t gridSide() const { return imageSize / patchSize; }
    std::int32_t patches() const { return gridSide() * gridSide(); }
};

struct ProjectorConfig {
    Activation activation = Activation::Gelu;
    bool bias = true;
    std::int32_t encoderLayersUsed = 0; ///< of vision_feature_layer: 0 = embeddings after pre-norm
    bool dropsClassToken = true;        ///< select strategy "default" drops it, "full" keeps it
};

struct ModelConfig {
    std::string family;       ///< "llava"
    std::string architecture; ///< "LlavaForConditionalGeneration"
    std::string path;         ///< of config.json
    std::string json;         ///< verbatim
    DecoderConfig decoder;
    VisionConfig vision;
    ProjectorConfig projector;
    TokenId imageToken = -1;
    std::optional<DType> dtype;     ///< `dtype` or `torch_dtype`
    std::vector<TokenId> endTokens; ///< of config.json alone; see readEndTokens

    /// Patches, plus one with the class token (field case F054).
    std::int32_t imageTokensPerPicture() const {
        return vision.patches() + (projector.dropsClassToken ? 0 : 1);
    }
};

/// Reads FOLDER/config.json. Throws Error{BadInput} naming the key.
ModelConfig readModelConfig(const std::filesystem::path& folder);
ModelConfig parseModelConfig(const std::string& json, const std::string& origin);

/// Where generation stops (field case F120): generation_config.json first, else config.json; a
/// number or a list. Sorted, without duplicates; the tokenizer's own end token is added by callers.
std::vector<TokenId> readEndTokens(const std::filesystem::path& folder, const ModelConfig& config);

} // namespace ecokv::model
