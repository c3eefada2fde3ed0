// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/decoder/rope_config.h"

#include "base/error.h"

#include <cmath>
#include <numbers>

#include <fmt/format.h>

namespace ecokv::model {

namespace {

constexpr double kLlamaTheta = 10000.0; // LlamaConfig's default, used when no key names another

double required(const JsonObject& rope, const char* key) {
    const auto value = rope.findNumber(key);
    if (!value || !(*value > 0.0)) {
        throwBadInput(fmt::format("{} must be a positive number.", rope.where(key)),
                      "Check the rotary settings of config.json.");
    }
    return *value;
}

void refuseNested(const JsonObject& rope) {
    for (const auto& [key, value] : rope.raw().items()) {
        if (value.is_object()) {
            throwBadInput(fmt::format("{}: rotary settings per layer type are not supported yet.",
                                      rope.where(key.c_str())),
                          "Supported are rope types default, linear and llama3 for all layers.");
        }
    }
}

/// Llama 3.1: long wavelengths are stretched by `factor`, short ones kept, between them a ramp.
void applyLlama3(std::vector<float>& frequencies, const JsonObject& rope,
                 std::int64_t maxPositions) {
    const double factor = required(rope, "factor");
    const double low = required(rope, "low_freq_factor");
    const double high = required(rope, "high_freq_factor");
    if (!(high > low)) {
        throwBadInput(fmt::format("{} = {} must be larger than low_freq_factor = {}.",
                                  rope.where("high_freq_factor"), high, low));
    }
    const double trained =
        rope.number("original_max_position_embeddings", static_cast<double>(maxPositions));
    for (float& frequency : frequencies) {
        const double wavelength = 2.0 * std::numbers::pi / frequency;
        double scaled = frequency;
        if (wavelength > trained / low) {
            scaled = frequency / factor;
        } else if (wavelength >= trained / high) {
            const double smooth = (trained / wavelength - low) / (high - low);
            scaled = (1.0 - smooth) * frequency / factor + smooth * frequency;
        }
        frequency = static_cast<float>(scaled);
    }
}

} // namespace

RopeSettings parseRope(const JsonObject& text, std::int32_t headDim, std::int64_t maxPositions) {
    const Json nothing = Json::object();
    auto rope = text.findObject("rope_scaling"); // has the last word in transformers as well
    if (!rope || rope->raw().empty()) {
        rope = text.findObject("rope_parameters");
    }
    if (!rope) {
        rope.emplace(nothing, text.origin(), "rope_parameters");
    }
    refuseNested(*rope);

    RopeSettings settings;
    const auto nested = rope->findNumber("rope_theta");
    settings.theta = nested ? *nested : text.number("rope_theta", kLlamaTheta);
    if (!(settings.theta > 0.0)) {
        throwBadInput(
            fmt::format("{}: rope_theta = {} must be positive.", text.origin(), settings.theta));
    }
    const double partial =
        rope->number("partial_rotary_factor", text.number("partial_rotary_factor", 1.0));
    if (partial != 1.0) {
        throwBadInput(fmt::format("{} = {}: partly rotated heads are not supported yet.",
                                  rope->where("partial_rotary_factor"), partial));
    }
    for (std::int32_t i = 0; i < headDim; i += 2) {
        // float32 exponent, as the reference computes it
        const float exponent = static_cast<float>(i) / static_cast<float>(headDim);
        const auto power = static_cast<float>(std::pow(settings.theta, exponent));
        settings.inverseFrequencies.push_back(1.0F / power);
    }

    const char* key = rope->has("rope_type") ? "rope_type" : "type";
    const std::string type = rope->string(key, "default");
    if (type == "linear") {
        const auto factor = static_cast<float>(required(*rope, "factor"));
        for (float& frequency : settings.inverseFrequencies) {
            frequency /= factor;
        }
    } else if (type == "llama3") {
        applyLlama3(settings.inverseFrequencies, *rope, maxPositions);
    } else if (type != "default") {
        throwBadInput(fmt::format("{} = \"{}\" is not supported.", rope->where(key), type),
                      "Supported rope types are default, linear and llama3.");
    }
    return settings;
}

} // namespace ecokv::model
