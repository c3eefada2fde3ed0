// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/decoder/layer_types.h"

#include "base/error.h"
#include "model/config_values.h"
#include "model/file_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace ecokv::model {

namespace {

enum class LayerKind : std::uint8_t { Full, Sliding, Linear };
using LayerKinds = std::vector<LayerKind>;

/// The window of the sliding layers; 0 = there is none.
std::int64_t slidingWindow(const JsonObject& text, const DecoderTraits& traits) {
    const char* key = "sliding_window"; // an explicit null means: none
    const bool used = traits.sliding == SlidingRule::FromLayer
                          ? text.boolean("use_sliding_window", false)
                          : traits.sliding != SlidingRule::None;
    if (!used || (text.raw().contains(key) && !text.has(key))) {
        return 0;
    }
    return size(text, key, 4096);
}

LayerKind kindNamed(const JsonObject& text, const char* key, const std::string& name,
                    const DecoderTraits& traits) {
    if (name == "full_attention") {
        return LayerKind::Full;
    }
    if (name == "sliding_attention" && !traits.isHybrid) {
        return LayerKind::Sliding;
    }
    if (name == "linear_attention" && traits.isHybrid) {
        return LayerKind::Linear;
    }
    throwBadInput(fmt::format("{} names \"{}\", which is not supported.", text.where(key), name),
                  fmt::format("Supported are full_attention and {}.",
                              traits.isHybrid ? "linear_attention" : "sliding_attention"));
}

/// layer_types as written; empty if the key is missing.
LayerKinds writtenKinds(const JsonObject& text, const DecoderTraits& traits,
                        const DecoderConfig& decoder) {
    const char* key = "layer_types";
    const Json* list = text.find(key);
    if (list == nullptr) {
        return {};
    }
    LayerKinds kinds;
    for (const Json& type : list->is_array() ? *list : Json::array()) {
        const std::string name = type.is_string() ? type.get<std::string>() : type.dump();
        kinds.push_back(kindNamed(text, key, name, traits));
    }
    if (kinds.size() != static_cast<std::size_t>(decoder.layers)) {
        throwBadInput(fmt::format("{} must name the attention of {} layers, but names {}.",
                                  text.where(key), decoder.layers, kinds.size()),
                      fmt::format("The list needs one entry for each of num_hidden_layers; without "
                                  "it the usual order of the family is taken. {}",
                                  restoreAdvice(text, key)));
    }
    return kinds;
}

LayerKinds impliedKinds(const JsonObject& text, const DecoderTraits& traits,
                        const DecoderConfig& decoder, std::int64_t window) {
    const bool fromLayer = traits.sliding == SlidingRule::FromLayer;
    const std::int64_t first = fromLayer ? text.integer("max_window_layers", 28) : 0;
    std::int64_t interval = 0; // of full layers among the others
    if (traits.isHybrid) {
        interval = size(text, "full_attention_interval", 4);
    } else if (traits.sliding == SlidingRule::Pattern) {
        interval = size(text, "sliding_window_pattern", 6);
    }
    const LayerKind other = traits.isHybrid ? LayerKind::Linear
                            : window > 0    ? LayerKind::Sliding
                                            : LayerKind::Full;
    LayerKinds kinds;
    for (std::int64_t layer = 0; layer < decoder.layers; ++layer) {
        const bool isFull = layer < first || (interval > 0 && (layer + 1) % interval == 0);
        kinds.push_back(isFull ? LayerKind::Full : other);
    }
    return kinds;
}

void requireUniform(const JsonObject& text, const LayerKinds& kinds, const LayerKinds& implied,
                    const DecoderConfig& decoder) {
    if (kinds != implied) {
        throwBadInput(
            fmt::format("{} mixes kinds of attention that a {} decoder does not have.",
                        text.where("layer_types"), decoder.family),
            "A llama decoder has full attention in every layer, a mistral decoder the same kind in "
            "every layer; if this model is of another family, it is not supported.");
    }
}

} // namespace

void readLayerTypes(const JsonObject& text, const DecoderTraits& traits, DecoderConfig& decoder) {
    const std::int64_t window = slidingWindow(text, traits);
    const LayerKinds implied = impliedKinds(text, traits, decoder, window);
    LayerKinds kinds = writtenKinds(text, traits, decoder);
    if (kinds.empty()) {
        kinds = implied;
    } else if (!traits.isHybrid &&
               (traits.sliding == SlidingRule::None || traits.sliding == SlidingRule::Every)) {
        requireUniform(text, kinds, implied, decoder);
    }
    if (window == 0 && std::ranges::find(kinds, LayerKind::Sliding) != kinds.end()) {
        throwBadInput(fmt::format("{} names sliding_attention, but there is no window for it.",
                                  text.where("layer_types")),
                      "Give sliding_window, and for Qwen models set use_sliding_window.");
    }
    for (const LayerKind kind : kinds) {
        decoder.slidingWindows.push_back(kind == LayerKind::Sliding ? window : 0);
        if (traits.isHybrid) {
            decoder.linearLayers.push_back(kind == LayerKind::Linear ? 1 : 0);
        }
    }
}

} // namespace ecokv::model
