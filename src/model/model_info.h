#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What a model folder holds, as values that need no weights: shapes of the decoder, of the vision
// tower, rotary settings, provenance. Read by the session, the trace and the desktop.

#include "base/ids.h"
#include "base/tensor_view.h"
#include "kernels/kernel_types.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ecokv::model {

/// One rotary embedding. Only the first rotaryDim() dims of a key turn, the others stay as they
/// are.
struct RopeSettings {
    kernels::RopeStyle style = kernels::RopeStyle::Half;
    double theta = 0.0; ///< rope_theta as read from config.json
    /// [pair] radians per position, scaling applied; at most headDim / 2. Empty = keys do not turn.
    std::vector<float> inverseFrequencies = {};
    /// [pair] by which of a token's positions it turns: 0 time, 1 row, 2 column (M-RoPE). Empty =
    /// all by the first.
    std::vector<std::uint8_t> axes = {};
    float attentionScaling = 1.0F; ///< factor on rotated dims (yarn)

    std::int32_t rotaryDim() const {
        return 2 * static_cast<std::int32_t>(inverseFrequencies.size());
    }
};

/// The rotary embeddings of a decoder: one for all layers, or several (Gemma 3: local and global).
struct LayerRopes {
    std::vector<RopeSettings> settings; ///< empty = no layer turns its keys
    std::vector<std::uint8_t> ofLayer;  ///< [layer] index into settings; empty = all use the first

    const RopeSettings& of(LayerId layer) const {
        static const RopeSettings kNone;
        const std::size_t index = ofLayer.empty() ? 0 : ofLayer.at(layer.index());
        return settings.empty() ? kNone : settings.at(index);
    }
};

struct ModelInfo {
    std::string name;          ///< folder name, for people
    std::string family;        ///< "llava"
    std::string architecture;  ///< "LlavaForConditionalGeneration"
    std::string path;          ///< folder
    std::string configJson;    ///< config.json, verbatim
    std::string configSha256;  ///< of config.json
    std::string weightsSha256; ///< of the safetensors headers (not of the data)
    std::int32_t layers = 0, heads = 0, kvHeads = 0, headDim = 0, hidden = 0, vocabulary = 0;
    std::int64_t maxPositions = 0;
    std::int64_t parameters = 0;    ///< count
    std::int64_t weightBytes = 0;   ///< on disk
    DType storedDType = DType::F32; ///< most common dtype of the weights
    LayerRopes ropes;
    std::string decoder; ///< "llama", "mistral", "qwen2"
    /// [layer] tokens that a sliding layer sees, its own included; 0 = a full layer. Empty = all
    /// are.
    std::vector<std::int64_t> slidingWindows;
    /// [layer] 1 = a linear layer (gated delta net): a state of fixed size in place of keys and
    /// values, so nothing is cached, scored or evicted. Empty = every layer has a KV cache.
    std::vector<std::uint8_t> linearLayers;
    std::int32_t imageTokensPerPicture = 0;       ///< 0 = text only or variable
    std::int32_t imageWidth = 0, imageHeight = 0; ///< size fed to the tower, pixels
    std::int32_t patchSize = 0;                   ///< pixels
    std::string templateSource;                   ///< file the chat template came from, "" = none
    std::string processorSource;                  ///< file the image settings came from
    std::string processorClass;                   ///< "Qwen2VLImageProcessorFast", as named there
    std::string processorRule;                    ///< how it finds sizes, in words (F043)
    /// For people: how large pictures get, and how many tokens; label, value.
    std::vector<std::pair<std::string, std::string>> pictureLines;

    bool isLinear(LayerId layer) const {
        return layer.index() < linearLayers.size() && linearLayers[layer.index()] != 0;
    }
};

} // namespace ecokv::model
