#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What sets the decoders of the families apart where config.json does not say it: defaults of
// missing keys as transformers 5 has them, and what a model_type has built in.

#include "model/json_file.h"

#include <cstdint>

namespace ecokv::model {

/// Which layers slide where `layer_types` is missing (field case F034).
enum class SlidingRule : std::uint8_t {
    None,      ///< a sliding_window in the file has no meaning
    Every,     ///< all, if there is a window (Mistral)
    FromLayer, ///< those from max_window_layers on, if use_sliding_window says so (Qwen)
    Pattern    ///< all but every sixth (Gemma 3)
};

/// How pairs of a head share the axes time, row, column.
enum class MropeLayout : std::uint8_t {
    None,
    Chunked,    ///< one run of pairs after the other (Qwen2-VL)
    Interleaved ///< pairs take turns (Qwen3-VL)
};

struct DecoderTraits {
    const char* type; ///< model_type
    std::int64_t vocabulary = 32000, hidden = 4096, intermediate = 11008;
    std::int64_t layers = 32, heads = 32;
    std::int64_t kvHeads = 0; ///< 0 = as many as query heads
    std::int64_t headDim = 0; ///< 0 = hidden / heads
    std::int64_t maxPositions = 2048;
    double rmsNormEps = 1e-6;
    double theta = 10000.0;  ///< 0 = config.json must name one (field case F091)
    double localTheta = 0.0; ///< of sliding layers; 0 = they turn as the others do
    const char* activationKey = "hidden_act";
    const char* activation = "silu";
    SlidingRule sliding = SlidingRule::None;
    MropeLayout mrope = MropeLayout::None;
    bool queryKeyValueBias = false; ///< built in, whatever the file says
    bool attentionBiasKey = false;  ///< `attention_bias` counts
    bool mlpBiasKey = false;        ///< `mlp_bias` counts
    bool headNorms = false;         ///< queries and keys are normalised head by head
    bool isGemma = false;       ///< scaled embedding, norms that add one, a norm behind each block
    bool isHybrid = false;      ///< linear layers with a full one now and then, gated attention
    double partialRotary = 1.0; ///< share of a head's dims that turn
    bool tied = false;          ///< tie_word_embeddings where the file does not say
};

/// Those of `model_type` ("llama" if missing). Throws Error{BadInput} naming those supported.
const DecoderTraits& decoderTraits(const JsonObject& text);

} // namespace ecokv::model
