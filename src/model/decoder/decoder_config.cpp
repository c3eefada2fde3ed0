// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/decoder/decoder_config.h"

#include "base/error.h"
#include "model/config_values.h"
#include "model/decoder/rope_config.h"

#include <fmt/format.h>

#include <vector>

namespace ecokv::model {

namespace {

/// Where the families differ when a key is missing.
struct Defaults {
    const char* type; ///< model_type
    std::int64_t vocabulary, intermediate;
    std::int64_t kvHeads; ///< 0 = as many as query heads
    std::int64_t maxPositions;
};

constexpr Defaults kFamilies[] = {
    {"llama", 32000, 11008, 0, 2048},
    {"mistral", 32000, 14336, 8, 131072},
    {"qwen2", 151936, 22016, 32, 32768},
};

const Defaults& familyOf(const JsonObject& text) {
    const std::string type = text.string("model_type", "llama");
    for (const Defaults& family : kFamilies) {
        if (type == family.type) {
            return family;
        }
    }
    refuseModelType(text, "decoder", "llama, mistral, qwen2");
}

void readHeads(const JsonObject& text, const Defaults& defaults, DecoderConfig& decoder) {
    decoder.heads = size(text, "num_attention_heads", 32);
    const char* kvHeads = "num_key_value_heads"; // an explicit null means: as many as query heads
    const bool unset = defaults.kvHeads == 0 || text.raw().contains(kvHeads);
    decoder.kvHeads = size(text, kvHeads, unset ? decoder.heads : defaults.kvHeads);
    if (decoder.heads % decoder.kvHeads != 0) {
        throwBadInput(fmt::format("{} = {} does not divide num_attention_heads = {}.",
                                  text.where(kvHeads), decoder.kvHeads, decoder.heads));
    }
    if (!text.has("head_dim") && decoder.hidden % decoder.heads != 0) {
        throwBadInput(fmt::format("{} = {} is not a multiple of num_attention_heads = {} and "
                                  "head_dim is missing.",
                                  text.where("hidden_size"), decoder.hidden, decoder.heads));
    }
    decoder.headDim = size(text, "head_dim", decoder.hidden / decoder.heads); // field case F095
    if (decoder.headDim % 2 != 0) {
        throwBadInput(fmt::format("{} = {} is odd; rotary positions need pairs.",
                                  text.where("head_dim"), decoder.headDim));
    }
}

/// The window of the sliding layers; 0 = there is none.
std::int64_t slidingWindow(const JsonObject& text, const DecoderConfig& decoder) {
    const char* key = "sliding_window"; // an explicit null means: none
    const bool used = decoder.family == "mistral" ||
                      (decoder.family == "qwen2" && text.boolean("use_sliding_window", false));
    if (!used || (text.raw().contains(key) && !text.has(key))) {
        return 0;
    }
    return size(text, key, 4096);
}

/// layer_types as written: true where a layer slides. Empty if the key is missing.
std::vector<bool> writtenLayerTypes(const JsonObject& text, const DecoderConfig& decoder) {
    const char* key = "layer_types";
    const Json* list = text.find(key);
    if (list == nullptr) {
        return {};
    }
    std::vector<bool> slides;
    for (const Json& type : list->is_array() ? *list : Json::array()) {
        const std::string name = type.is_string() ? type.get<std::string>() : type.dump();
        if (name != "sliding_attention" && name != "full_attention") {
            throwBadInput(
                fmt::format("{} names \"{}\", which is not supported.", text.where(key), name),
                "Supported are full_attention and sliding_attention.");
        }
        slides.push_back(name == "sliding_attention");
    }
    if (slides.size() != static_cast<std::size_t>(decoder.layers)) {
        throwBadInput(fmt::format("{} must name the attention of {} layers, but names {}.",
                                  text.where(key), decoder.layers, slides.size()));
    }
    return slides;
}

/// Which layers slide where the file does not say: all of Mistral's, those of Qwen2 from
/// max_window_layers on (field case F034).
std::vector<bool> impliedLayerTypes(const JsonObject& text, const DecoderConfig& decoder,
                                    std::int64_t window) {
    const std::int64_t first =
        decoder.family == "qwen2" ? text.integer("max_window_layers", 28) : 0;
    std::vector<bool> slides;
    for (std::int64_t layer = 0; layer < decoder.layers; ++layer) {
        slides.push_back(window > 0 && layer >= first);
    }
    return slides;
}

void readLayerTypes(const JsonObject& text, DecoderConfig& decoder) {
    const std::int64_t window = slidingWindow(text, decoder);
    const std::vector<bool> implied = impliedLayerTypes(text, decoder, window);
    std::vector<bool> slides = writtenLayerTypes(text, decoder);
    if (slides.empty()) {
        slides = implied;
    } else if (decoder.family != "qwen2" && slides != implied) {
        throwBadInput(
            fmt::format("{} mixes kinds of attention that a {} decoder does not have.",
                        text.where("layer_types"), decoder.family),
            "A llama decoder has full attention in every layer, a mistral decoder the same kind "
            "in every layer.");
    }
    for (const bool slide : slides) {
        if (slide && window == 0) {
            throwBadInput(fmt::format("{} names sliding_attention, but there is no window for it.",
                                      text.where("layer_types")),
                          "Give sliding_window, and for qwen2 set use_sliding_window.");
        }
        decoder.slidingWindows.push_back(slide ? window : 0);
    }
}

} // namespace

DecoderConfig parseDecoder(const JsonObject& text) {
    const Defaults& defaults = familyOf(text);
    DecoderConfig decoder;
    decoder.family = defaults.type;
    decoder.vocabulary = size(text, "vocab_size", defaults.vocabulary);
    decoder.hidden = size(text, "hidden_size", 4096);
    decoder.intermediate = size(text, "intermediate_size", defaults.intermediate);
    decoder.layers = size(text, "num_hidden_layers", 32);
    constexpr std::int32_t kMostLayers = 10'000'000; // beyond it, reading on only costs memory
    if (decoder.layers > kMostLayers) {
        throwBadInput(fmt::format("{} = {} is more than any model has.",
                                  text.where("num_hidden_layers"), decoder.layers),
                      "Check config.json.");
    }
    readHeads(text, defaults, decoder);
    decoder.maxPositions = size(text, "max_position_embeddings", defaults.maxPositions);
    decoder.rmsNormEps = epsilon(text, "rms_norm_eps", 1e-6);
    decoder.activation = activation(text, "hidden_act", "silu");
    const bool isLlama = decoder.family == "llama"; // the others have these keys built in
    decoder.outputBias = isLlama && text.boolean("attention_bias", false);
    decoder.queryKeyValueBias = decoder.outputBias || decoder.family == "qwen2";
    decoder.mlpBias = isLlama && text.boolean("mlp_bias", false);
    decoder.tiedEmbeddings = text.boolean("tie_word_embeddings", false);
    decoder.rope = parseRope(text, decoder.headDim, decoder.maxPositions);
    readLayerTypes(text, decoder);
    return decoder;
}

} // namespace ecokv::model
