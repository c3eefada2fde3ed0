// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/decoder/decoder_config.h"

#include "base/error.h"
#include "model/config_values.h"
#include "model/decoder/decoder_traits.h"
#include "model/decoder/layer_types.h"
#include "model/decoder/rope_config.h"
#include "model/file_advice.h"

#include <fmt/format.h>

#include <cmath>

namespace ecokv::model {

namespace {

void readHeads(const JsonObject& text, const DecoderTraits& traits, DecoderConfig& decoder) {
    decoder.heads = size(text, "num_attention_heads", traits.heads);
    const char* kvHeads = "num_key_value_heads"; // an explicit null means: as many as query heads
    const bool unset = traits.kvHeads == 0 || text.raw().contains(kvHeads);
    decoder.kvHeads = size(text, kvHeads, unset ? decoder.heads : traits.kvHeads);
    if (decoder.heads % decoder.kvHeads != 0) {
        throwBadInput(fmt::format("{} = {} does not divide num_attention_heads = {}.",
                                  text.where(kvHeads), decoder.kvHeads, decoder.heads),
                      fmt::format("Every KV head serves the same number of query heads. {}",
                                  restoreAdvice(text, kvHeads)));
    }
    const bool derived = traits.headDim == 0 && !text.has("head_dim");
    if (derived && decoder.hidden % decoder.heads != 0) {
        throwBadInput(fmt::format("{} = {} is not a multiple of num_attention_heads = {} and "
                                  "head_dim is missing.",
                                  text.where("hidden_size"), decoder.hidden, decoder.heads),
                      "Add head_dim if the model has heads of another width; if not, download "
                      "config.json again: one of the two numbers is wrong.");
    }
    decoder.headDim =
        size(text, "head_dim",
             derived ? decoder.hidden / decoder.heads : traits.headDim); // field case F095
    if (decoder.headDim % 2 != 0) {
        throwBadInput(fmt::format("{} = {} is odd; rotary positions need pairs.",
                                  text.where("head_dim"), decoder.headDim),
                      restoreAdvice(text, "head_dim"));
    }
}

void readBiases(const JsonObject& text, const DecoderTraits& traits, DecoderConfig& decoder) {
    decoder.outputBias = traits.attentionBiasKey && text.boolean("attention_bias", false);
    decoder.queryKeyValueBias = decoder.outputBias || traits.queryKeyValueBias;
    decoder.mlpBias = traits.mlpBiasKey && text.boolean("mlp_bias", false);
}

void readGemma(const JsonObject& text, DecoderConfig& decoder) {
    for (const char* key : {"final_logit_softcapping", "attn_logit_softcapping"}) {
        if (text.has(key)) {
            throwBadInput(
                fmt::format("{} = {} is not supported.", text.where(key), text.number(key, 0.0)),
                "Gemma 3 models have no such key or null there; Gemma 2 is not "
                "supported.");
        }
    }
    if (text.boolean("use_bidirectional_attention", false)) {
        throwBadInput(
            fmt::format("{} = true is not supported.", text.where("use_bidirectional_attention")),
            "Such a model sees later text and writes none; open one that answers.");
    }
    decoder.normsAddOne = decoder.normsBehindBlocks = true;
    decoder.picturesSeeThemselves = true;
    decoder.embeddingScale = std::sqrt(static_cast<double>(decoder.hidden));
    const char* key = "query_pre_attn_scalar";
    const double scalar = text.number(key, 256.0);
    if (!(scalar > 0.0)) {
        throwBadInput(
            fmt::format("{} = {} must be positive.", text.where(key), scalar),
            fmt::format("It is 256 in most Gemma 3 models. {}", restoreAdvice(text, key)));
    }
    decoder.queryScale = std::sqrt(decoder.headDim / scalar);
}

/// Qwen3.5: delta nets beside gated full attention.
void readHybrid(const JsonObject& text, DecoderConfig& decoder) {
    decoder.normsAddOne = decoder.gatedAttention = true;
    decoder.deltaNet = {.keyHeads = size(text, "linear_num_key_heads", 16),
                        .valueHeads = size(text, "linear_num_value_heads", 32),
                        .keyDim = size(text, "linear_key_head_dim", 128),
                        .valueDim = size(text, "linear_value_head_dim", 128),
                        .convolutionKernel = size(text, "linear_conv_kernel_dim", 4)};
    if (decoder.deltaNet.valueHeads % decoder.deltaNet.keyHeads != 0) {
        throwBadInput(fmt::format("{} = {} is not a multiple of linear_num_key_heads = {}.",
                                  text.where("linear_num_value_heads"), decoder.deltaNet.valueHeads,
                                  decoder.deltaNet.keyHeads),
                      restoreAdvice(text, "linear_num_value_heads"));
    }
    if (decoder.activation != Activation::Silu) {
        throwBadInput(
            fmt::format("{}: a delta net works with silu only.", text.where("hidden_act")),
            restoreAdvice(text, "hidden_act"));
    }
}

} // namespace

DecoderConfig parseDecoder(const JsonObject& text) {
    const DecoderTraits& traits = decoderTraits(text);
    DecoderConfig decoder;
    decoder.family = traits.type;
    decoder.vocabulary = size(text, "vocab_size", traits.vocabulary);
    decoder.hidden = size(text, "hidden_size", traits.hidden);
    decoder.intermediate = size(text, "intermediate_size", traits.intermediate);
    decoder.layers = size(text, "num_hidden_layers", traits.layers);
    constexpr std::int32_t kMostLayers = 10'000'000; // beyond it, reading on only costs memory
    if (decoder.layers > kMostLayers) {
        throwBadInput(fmt::format("{} = {} is more than any model has.",
                                  text.where("num_hidden_layers"), decoder.layers),
                      restoreAdvice(text, "num_hidden_layers"));
    }
    readHeads(text, traits, decoder);
    decoder.maxPositions = size(text, "max_position_embeddings", traits.maxPositions);
    decoder.rmsNormEps = epsilon(text, "rms_norm_eps", traits.rmsNormEps);
    decoder.activation = activation(text, traits.activationKey, traits.activation);
    readBiases(text, traits, decoder);
    decoder.headNorms = traits.headNorms;
    decoder.tiedEmbeddings = text.boolean("tie_word_embeddings", traits.tied);
    if (traits.isGemma) {
        readGemma(text, decoder);
    }
    if (traits.isHybrid) {
        readHybrid(text, decoder);
    }
    readLayerTypes(text, traits, decoder);
    decoder.ropes = readRopes(text, traits, decoder);
    return decoder;
}

} // namespace ecokv::model
