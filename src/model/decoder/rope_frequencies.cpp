// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/decoder/rope_frequencies.h"

#include "base/error.h"
#include "model/file_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ecokv::model {

namespace {

double required(const JsonObject& rope, const char* key) {
    const auto value = rope.findNumber(key);
    if (!value || !(*value > 0.0)) {
        throwBadInput(fmt::format("{} must be a positive number.", rope.where(key)),
                      "Check the rotary settings of config.json.");
    }
    return *value;
}

void applyLinear(std::vector<float>& frequencies, const RopeInput& input) {
    const auto factor = static_cast<float>(required(input.rope, "factor"));
    for (float& frequency : frequencies) {
        frequency /= factor;
    }
}

/// Llama 3.1: long wavelengths are stretched by `factor`, short ones kept, between them a ramp.
void applyLlama3(std::vector<float>& frequencies, const RopeInput& input) {
    const double factor = required(input.rope, "factor");
    const double low = required(input.rope, "low_freq_factor");
    const double high = required(input.rope, "high_freq_factor");
    if (!(high > low)) {
        throwBadInput(fmt::format("{} = {} must be larger than low_freq_factor = {}.",
                                  input.rope.where("high_freq_factor"), high, low),
                      fmt::format("Llama 3 models have 4 and 1. {}",
                                  restoreAdvice(input.rope, "high_freq_factor")));
    }
    const auto trained = static_cast<double>(input.trainedPositions);
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

/// The pair that turns `rotations` times within the positions the model was trained on.
double yarnPair(const RopeInput& input, double rotations) {
    const double positions = static_cast<double>(input.trainedPositions);
    return input.rotaryDim * std::log(positions / (rotations * 2.0 * std::numbers::pi)) /
           (2.0 * std::log(input.theta));
}

double yarnScale(double factor, double mscale) {
    return factor <= 1.0 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

/// YaRN (arXiv 2309.00071): slow pairs are interpolated, quick ones kept, between them a ramp; the
/// rotated dims grow a little to keep attention as sharp.
void applyYarn(RopeSettings& settings, const RopeInput& input) {
    const JsonObject& rope = input.rope;
    const auto trained = static_cast<double>(input.trainedPositions);
    const double factor = rope.has("factor") ? required(rope, "factor")
                                             : static_cast<double>(input.maxPositions) / trained;
    const double mscale = rope.number("mscale", 0.0), all = rope.number("mscale_all_dim", 0.0);
    const double implied = mscale != 0.0 && all != 0.0
                               ? yarnScale(factor, mscale) / yarnScale(factor, all)
                               : yarnScale(factor, 1.0);
    settings.attentionScaling = static_cast<float>(rope.number("attention_factor", implied));

    double low = yarnPair(input, rope.has("beta_fast") ? required(rope, "beta_fast") : 32.0);
    double high = yarnPair(input, rope.has("beta_slow") ? required(rope, "beta_slow") : 1.0);
    if (rope.boolean("truncate", true)) {
        low = std::floor(low);
        high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, static_cast<double>(input.rotaryDim - 1));
    if (low == high) {
        high += 0.001; // no ramp without a width
    }
    for (std::size_t pair = 0; pair < settings.inverseFrequencies.size(); ++pair) {
        float& frequency = settings.inverseFrequencies[pair];
        const auto ramp = static_cast<float>((static_cast<double>(pair) - low) / (high - low));
        const float interpolated = std::clamp(ramp, 0.0F, 1.0F);
        frequency = frequency / static_cast<float>(factor) * interpolated +
                    frequency * (1.0F - interpolated);
    }
}

/// mrope: an axis for each pair. dynamic (InternVL3): stretched only where a text grows beyond
/// max_position_embeddings. No prompt does, and an answer that does is not to be trusted, which a
/// run says.
bool turnsPlainly(const std::string& type) {
    return type == "default" || type == "mrope" || type == "dynamic";
}

} // namespace

RopeSettings ropeSettings(const RopeInput& input) {
    RopeSettings settings;
    settings.theta = input.theta;
    for (std::int32_t i = 0; i < input.rotaryDim; i += 2) {
        // float32 exponent, as the reference computes it
        const float exponent = static_cast<float>(i) / static_cast<float>(input.rotaryDim);
        const auto power = static_cast<float>(std::pow(settings.theta, exponent));
        settings.inverseFrequencies.push_back(1.0F / power);
    }
    const char* key = input.rope.has("rope_type") ? "rope_type" : "type";
    const std::string type = input.rope.string(key, "default");
    if (type == "linear") {
        applyLinear(settings.inverseFrequencies, input);
    } else if (type == "llama3") {
        applyLlama3(settings.inverseFrequencies, input);
    } else if (type == "yarn") {
        applyYarn(settings, input);
    } else if (!turnsPlainly(type)) {
        throwBadInput(fmt::format("{} = \"{}\" is not supported.", input.rope.where(key), type),
                      "Supported rope types are default, dynamic, linear, llama3 and yarn.");
    }
    return settings;
}

} // namespace ecokv::model
