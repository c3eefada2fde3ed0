// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/decoder/decoder_traits.h"

#include "model/config_values.h"

#include <string>

namespace ecokv::model {

namespace {

/// Qwen2-VL and 2.5-VL have the same decoder, under a type of its own and, in older exports, under
/// that of the whole model.
constexpr DecoderTraits qwen2Vision(const char* type) {
    return {.type = type,
            .vocabulary = 152064,
            .hidden = 8192,
            .intermediate = 29568,
            .layers = 80,
            .heads = 64,
            .kvHeads = 8,
            .maxPositions = 32768,
            .rmsNormEps = 1e-5,
            .theta = 1e6,
            .sliding = SlidingRule::FromLayer,
            .mrope = MropeLayout::Chunked,
            .queryKeyValueBias = true};
}

constexpr DecoderTraits kTraits[] = {
    {.type = "llama", .attentionBiasKey = true, .mlpBiasKey = true},
    {.type = "mistral",
     .intermediate = 14336,
     .kvHeads = 8,
     .maxPositions = 131072,
     .sliding = SlidingRule::Every},
    {.type = "qwen2",
     .vocabulary = 151936,
     .intermediate = 22016,
     .kvHeads = 32,
     .maxPositions = 32768,
     .theta = 0.0,
     .sliding = SlidingRule::FromLayer,
     .queryKeyValueBias = true},
    {.type = "qwen3",
     .vocabulary = 151936,
     .intermediate = 22016,
     .kvHeads = 32,
     .headDim = 128,
     .maxPositions = 32768,
     .theta = 0.0,
     .sliding = SlidingRule::FromLayer,
     .attentionBiasKey = true,
     .headNorms = true},
    qwen2Vision("qwen2_vl_text"),
    qwen2Vision("qwen2_vl"),
    qwen2Vision("qwen2_5_vl_text"),
    qwen2Vision("qwen2_5_vl"),
    {.type = "qwen3_vl_text",
     .vocabulary = 151936,
     .intermediate = 22016,
     .kvHeads = 32,
     .headDim = 128,
     .maxPositions = 128000,
     .theta = 500000.0,
     .mrope = MropeLayout::Interleaved,
     .attentionBiasKey = true,
     .headNorms = true},
    {.type = "qwen3_5_text",
     .vocabulary = 248320,
     .intermediate = 12288,
     .heads = 16,
     .kvHeads = 4,
     .headDim = 256,
     .maxPositions = 32768,
     .theta = 0.0,
     .mrope = MropeLayout::Interleaved,
     .attentionBiasKey = true,
     .headNorms = true,
     .isHybrid = true,
     .partialRotary = 0.25},
    {.type = "gemma3_text",
     .vocabulary = 262208,
     .hidden = 2304,
     .intermediate = 9216,
     .layers = 26,
     .heads = 8,
     .kvHeads = 4,
     .headDim = 256,
     .maxPositions = 131072,
     .theta = 1e6,
     .localTheta = 10000.0,
     .activationKey = "hidden_activation",
     .activation = "gelu_pytorch_tanh",
     .sliding = SlidingRule::Pattern,
     .attentionBiasKey = true,
     .headNorms = true,
     .isGemma = true,
     .tied = true},
};

} // namespace

const DecoderTraits& decoderTraits(const JsonObject& text) {
    const std::string type = text.string("model_type", "llama");
    for (const DecoderTraits& traits : kTraits) {
        if (type == traits.type) {
            return traits;
        }
    }
    refuseModelType(text, "decoder",
                    "llama, mistral, qwen2, qwen3, qwen3_5_text, gemma3_text and the text parts "
                    "of Qwen2-VL, Qwen2.5-VL and Qwen3-VL");
}

} // namespace ecokv::model
