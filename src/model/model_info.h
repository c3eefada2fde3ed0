#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What a model folder holds, as values that need no weights: shapes of the decoder, of the vision
// tower, rotary settings, provenance. Read by the session, the trace and the desktop.

#include "base/tensor_view.h"
#include "kernels/kernel_types.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ecokv::model {

struct RopeSettings {
    kernels::RopeStyle style = kernels::RopeStyle::Half;
    double theta = 0.0;                    ///< rope_theta as read from config.json
    std::vector<float> inverseFrequencies; ///< [headDim / 2] radians per position, scaling applied
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
    RopeSettings rope;
    std::string decoder; ///< "llama", "mistral", "qwen2"
    /// [layer] tokens that a sliding layer sees, its own included; 0 = a full layer. Empty = all
    /// are.
    std::vector<std::int64_t> slidingWindows;
    std::int32_t imageTokensPerPicture = 0;       ///< 0 = text only or variable
    std::int32_t imageWidth = 0, imageHeight = 0; ///< size fed to the tower, pixels
    std::int32_t patchSize = 0;                   ///< pixels
    std::string templateSource;                   ///< file the chat template came from, "" = none
    std::string processorSource;                  ///< file the image settings came from
};

} // namespace ecokv::model
