#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// config.json as values, with the defaults transformers uses for missing keys: the decoder and what
// else all families share. Read by families/registry.cpp.

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

/// Linear layers of Qwen3.5; value heads are a multiple of key heads.
struct DeltaNetConfig {
    std::int32_t keyHeads = 0, valueHeads = 0, keyDim = 0, valueDim = 0;
    std::int32_t convolutionKernel = 0; ///< tokens that a channel sees, its own included
};

struct DecoderConfig {
    std::string family = "llama"; ///< model_type: "mistral", "qwen2", "gemma3_text", ...
    std::int32_t vocabulary = 0, hidden = 0, intermediate = 0;
    std::int32_t layers = 0, heads = 0, kvHeads = 0, headDim = 0;
    std::int64_t maxPositions = 0;
    double rmsNormEps = 1e-6;
    Activation activation = Activation::Silu;
    bool queryKeyValueBias = false, outputBias = false; ///< of the attention's projections
    bool mlpBias = false;
    bool tiedEmbeddings = false;    ///< the head is the embedding (field case F089)
    bool headNorms = false;         ///< queries and keys are normalised head by head, then turned
    bool normsAddOne = false;       ///< scales are stored less one, and applied in f32 (Gemma)
    bool normsBehindBlocks = false; ///< what attention and MLP give is normalised too (Gemma)
    bool gatedAttention = false;    ///< the query projection also gates what heads give (Qwen3.5)
    /// Tokens of a picture see all of it, also what comes behind them and what a window would hide.
    bool picturesSeeThemselves = false;
    double embeddingScale = 1.0; ///< on embedded tokens, not on pictures
    double queryScale = 1.0;     ///< on normalised queries, so that 1 / sqrt(headDim) is left to do
    LayerRopes ropes;
    std::vector<std::int64_t>
        slidingWindows; ///< [layer] tokens a layer sees, itself included; 0 = all
    std::vector<std::uint8_t> linearLayers; ///< [layer] 1 = a delta net; empty = none is
    DeltaNetConfig deltaNet;                ///< of those

    bool isLinear(LayerId layer) const {
        return !linearLayers.empty() && linearLayers[layer.index()] != 0;
    }
};

/// What all families have in common; towers and projectors keep their settings to themselves.
struct ModelConfig {
    std::string family;       ///< "llava"
    std::string architecture; ///< "LlavaForConditionalGeneration"
    std::string path;         ///< of config.json
    std::string json;         ///< verbatim
    DecoderConfig decoder;
    TokenId imageToken = -1;                      ///< in the vocabulary; -1 = text only
    std::int32_t imageTokensPerPicture = 0;       ///< 0 = none, or it depends on the picture
    std::int32_t visionLayers = 0;                ///< that the config names
    std::int32_t imageWidth = 0, imageHeight = 0; ///< pixels fed to the tower; 0 = it varies
    std::int32_t patchSize = 0;                   ///< pixels
    std::optional<DType> dtype;                   ///< `dtype` or `torch_dtype`
    std::vector<TokenId> endTokens;               ///< of config.json alone; see readEndTokens
};

/// Where generation stops (field case F120): generation_config.json first, else config.json; a
/// number or a list. Sorted, without duplicates; the tokenizer's own end token is added by callers.
std::vector<TokenId> readEndTokens(const std::filesystem::path& folder, const ModelConfig& config);

} // namespace ecokv::model
