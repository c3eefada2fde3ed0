// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/decoder/rope_config.h"

#include "base/error.h"
#include "model/config_values.h"
#include "model/decoder/rope_frequencies.h"
#include "model/file_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

namespace ecokv::model {

namespace {

constexpr const char* kFull = "full_attention";
constexpr const char* kSliding = "sliding_attention";

/// A dictionary of rotary settings: one for all layers, or nested per layer type.
JsonObject ropeObject(const JsonObject& text, const Json& nothing) {
    auto rope = text.findObject("rope_scaling"); // has the last word in transformers as well
    if (!rope || rope->raw().empty()) {
        rope = text.findObject("rope_parameters");
    }
    return rope ? *rope : JsonObject(nothing, text.origin(), "rope_parameters");
}

void refuseNested(const JsonObject& rope, const DecoderConfig& decoder) {
    for (const auto& [key, value] : rope.raw().items()) {
        if (value.is_object()) {
            throwBadInput(fmt::format("{}: a {} decoder has one rotary setting for all layers.",
                                      rope.where(key.c_str()), decoder.family),
                          "Write the settings without layer types.");
        }
    }
}

double positive(const JsonObject& object, const char* key, double value) {
    if (!(value > 0.0)) {
        throwBadInput(fmt::format("{} = {} must be positive.", object.where(key), value),
                      restoreAdvice(object, key));
    }
    return value;
}

/// rope_theta beside `rope_scaling`, or inside `rope_parameters`.
double theta(const JsonObject& text, const JsonObject& rope, const DecoderTraits& traits) {
    if (const auto inside = rope.findNumber("rope_theta")) {
        return positive(rope, "rope_theta", *inside);
    }
    if (!text.has("rope_theta") && traits.theta == 0.0) { // field case F091
        throwBadInput(fmt::format("{} is missing; a {} decoder has no usual one.",
                                  text.where("rope_theta"), traits.type),
                      "Add rope_theta (1000000 in most of these models), or fetch config.json "
                      "again.");
    }
    return positive(text, "rope_theta", text.number("rope_theta", traits.theta));
}

std::int64_t trainedPositions(const JsonObject& text, const JsonObject& rope,
                              const DecoderConfig& decoder) {
    const char* key = "original_max_position_embeddings";
    const JsonObject& place = text.has(key) ? text : rope;
    return size(place, key, decoder.maxPositions);
}

/// Dims of a head that turn.
std::int32_t rotaryDim(const JsonObject& text, const JsonObject& rope, const DecoderTraits& traits,
                       const DecoderConfig& decoder) {
    const char* key = "partial_rotary_factor";
    const double partial = rope.number(key, text.number(key, traits.partialRotary));
    if (!traits.isHybrid && partial != 1.0) {
        throwBadInput(
            fmt::format("{} = {}: a {} decoder turns whole heads.", rope.where(key), partial,
                        decoder.family),
            fmt::format("Decoders that turn a part of each head are supported for Qwen3.5 only; if "
                        "this one turns all of it, leave the key out. {}",
                        restoreAdvice(rope, key)));
    }
    const auto dims = static_cast<std::int32_t>(decoder.headDim * partial);
    if (!(partial > 0.0 && partial <= 1.0) || dims < 2 || dims % 2 != 0) {
        throwBadInput(fmt::format("{} = {} of heads of {} gives no pairs.", rope.where(key),
                                  partial, decoder.headDim),
                      fmt::format("The share lies above 0 and at most at 1, and the turned dims "
                                  "are an even number. {}",
                                  restoreAdvice(rope, key)));
    }
    return dims;
}

/// mrope_section: pairs of each axis.
std::array<std::int64_t, 3> sections(const JsonObject& rope, const DecoderTraits& traits,
                                     std::int64_t count) {
    const char* key = "mrope_section";
    const Json* list = rope.find(key);
    std::array<std::int64_t, 3> pairs{24, 20, 20}; // of Qwen3-VL
    if (traits.isHybrid) {
        pairs = {11, 11, 10}; // of Qwen3.5
    }
    if (list == nullptr && traits.mrope == MropeLayout::Chunked) {
        throwBadInput(fmt::format("{} is missing.", rope.where(key)),
                      fmt::format("A Qwen2-VL decoder needs it to place pictures. {}",
                                  restoreAdvice(rope, key)));
    }
    if (list != nullptr) {
        const bool isTriple =
            list->is_array() && list->size() == 3 && std::ranges::all_of(*list, [](const Json& n) {
                return n.is_number_integer() && n.get<std::int64_t>() >= 0;
            });
        if (!isTriple) {
            throwBadInput(
                fmt::format("{} must be three numbers.", rope.where(key)),
                fmt::format("They count the pairs of time, row and column, as [16, 24, 24]. {}",
                            restoreAdvice(rope, key)));
        }
        pairs = list->get<std::array<std::int64_t, 3>>();
    }
    const bool isChunked = traits.mrope == MropeLayout::Chunked;
    if (isChunked && std::accumulate(pairs.begin(), pairs.end(), std::int64_t{0}) != count) {
        throwBadInput(fmt::format("{} = [{}, {}, {}] does not add up to the {} pairs of a head.",
                                  rope.where(key), pairs[0], pairs[1], pairs[2], count),
                      fmt::format("They share out half of head_dim among time, row and column. {}",
                                  restoreAdvice(rope, key)));
    }
    return pairs;
}

/// [pair] 0 time, 1 row, 2 column (M-RoPE, arXiv 2409.12191).
std::vector<std::uint8_t> axesOf(MropeLayout layout, const std::array<std::int64_t, 3>& pairs,
                                 std::int64_t count) {
    std::vector<std::uint8_t> axes;
    for (std::int64_t pair = 0; pair < count; ++pair) {
        std::uint8_t axis = 0;
        if (layout == MropeLayout::Chunked) {
            axis = pair < pairs[0] ? 0 : pair < pairs[0] + pairs[1] ? 1 : 2;
        } else if (pair < 3 * pairs[static_cast<std::size_t>(pair % 3)]) {
            axis = static_cast<std::uint8_t>(pair % 3); // turns, until an axis has all its pairs
        }
        axes.push_back(axis);
    }
    return axes;
}

/// One setting for every layer.
RopeSettings readShared(const JsonObject& text, const DecoderTraits& traits,
                        const DecoderConfig& decoder) {
    const Json nothing = Json::object();
    const JsonObject rope = ropeObject(text, nothing);
    refuseNested(rope, decoder);
    RopeSettings settings =
        ropeSettings({.rope = rope,
                      .theta = theta(text, rope, traits),
                      .rotaryDim = rotaryDim(text, rope, traits, decoder),
                      .maxPositions = decoder.maxPositions,
                      .trainedPositions = trainedPositions(text, rope, decoder)});
    if (traits.mrope != MropeLayout::None) {
        settings.axes = axesOf(traits.mrope, sections(rope, traits, settings.rotaryDim() / 2),
                               settings.rotaryDim() / 2);
    }
    return settings;
}

/// Gemma 3: `rope_parameters` nested per layer type, or rope_theta, rope_scaling (full layers) and
/// rope_local_base_freq (sliding layers) of older exports.
RopeSettings readOfType(const JsonObject& text, const DecoderTraits& traits,
                        const DecoderConfig& decoder, const char* type) {
    const bool isFull = type == kFull;
    const Json nothing = Json::object();
    std::optional<JsonObject> rope;
    if (const auto parameters = text.findObject("rope_parameters")) {
        rope = parameters->findObject(type);
        if (!parameters->raw().empty() && !parameters->find(kFull) && !parameters->find(kSliding)) {
            throwBadInput(
                fmt::format("{} names neither {} nor {}.", text.where("rope_parameters"), kFull,
                            kSliding),
                fmt::format("A Gemma 3 decoder has rotary settings for each of the two. {}",
                            restoreAdvice(text, "rope_parameters")));
        }
    }
    const auto scaling = isFull ? text.findObject("rope_scaling") : std::nullopt;
    Json merged = rope ? rope->raw() : nothing;
    if (scaling) {
        merged.update(scaling->raw());
    }
    const std::string where = scaling ? "rope_scaling" : std::string("rope_parameters.") + type;
    const JsonObject settings(merged, text.origin(), where);
    const char* key = isFull ? "rope_theta" : "rope_local_base_freq";
    const double usual = isFull ? traits.theta : traits.localTheta;
    return ropeSettings(
        {.rope = settings,
         .theta = positive(text, key, settings.number("rope_theta", text.number(key, usual))),
         .rotaryDim = rotaryDim(text, settings, traits, decoder),
         .maxPositions = decoder.maxPositions,
         .trainedPositions = trainedPositions(text, settings, decoder)});
}

} // namespace

LayerRopes readRopes(const JsonObject& text, const DecoderTraits& traits,
                     const DecoderConfig& decoder) {
    if (traits.localTheta == 0.0) {
        return {{readShared(text, traits, decoder)}, {}};
    }
    LayerRopes ropes{
        {readOfType(text, traits, decoder, kFull), readOfType(text, traits, decoder, kSliding)},
        {}};
    for (const std::int64_t window : decoder.slidingWindows) {
        ropes.ofLayer.push_back(window > 0 ? 1 : 0);
    }
    return ropes;
}

} // namespace ecokv::model
