// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/read_rotation.h"

#include "base/error.h"
#include "trace/hdf5/attributes.h"
#include "trace/hdf5/datasets.h"
#include "trace/read_records.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace ecokv::trace {

namespace {

double numberOf(const Attribute& attribute) {
    if (const auto* number = std::get_if<double>(&attribute)) {
        return *number;
    }
    const auto* whole = std::get_if<std::int64_t>(&attribute);
    return whole != nullptr ? static_cast<double>(*whole) : std::nan("");
}

/// The inverse frequencies of an unscaled rotary embedding, as models compute them.
std::vector<float> plainFrequencies(double theta, std::int64_t dim) {
    std::vector<float> frequencies;
    for (std::int64_t i = 0; i + 1 < dim; i += 2) {
        const float exponent = static_cast<float>(i) / static_cast<float>(dim);
        frequencies.push_back(1.0F / static_cast<float>(std::pow(theta, exponent)));
    }
    return frequencies;
}

/// Our traces of before `rope_inverse_frequencies` do not say how these stretched the rotation.
bool isStretched(const ModelRecord& model) {
    return model.configJson.find("\"llama3\"") != std::string::npos ||
           model.configJson.find("\"linear\"") != std::string::npos;
}

bool isInterleaved(hid_t file, const Attribute& style) {
    const auto* text = std::get_if<std::string>(&style);
    if (text == nullptr || (*text != "half" && *text != "interleaved")) {
        throwBadInput(
            fmt::format("rope_style of {} is neither \"half\" nor \"interleaved\".", nameOf(file)),
            "half: pairs (i, i + dim / 2), as Llama; interleaved: pairs (2i, 2i + 1).");
    }
    return *text == "interleaved";
}

std::vector<std::uint8_t> bytesOf(hid_t group, const std::string& name) {
    return hasLink(group, name) ? readIntegers<std::uint8_t>(openDataset(group, name).get())
                                : std::vector<std::uint8_t>();
}

/// Those of an unscaled rope; none where the file gives no theta or a stretched one.
std::optional<std::vector<float>> frequenciesOf(hid_t file, const ModelRecord& model,
                                                std::int64_t dim) {
    const auto theta = model.attributes.find("rope_theta");
    if (theta == model.attributes.end() || isStretched(model)) {
        return std::nullopt;
    }
    if (!(numberOf(theta->second) > 0)) {
        throwBadInput(fmt::format("rope_theta of {} is not a positive number.", nameOf(file)));
    }
    return plainFrequencies(numberOf(theta->second), dim);
}

void checkRope(hid_t file, std::size_t index, const RopeRecord& rope,
               const Dimensions& dimensions) {
    const auto pairs = std::ssize(rope.inverseFrequencies);
    if (pairs > dimensions.headDim / 2) {
        throwBadInput(fmt::format("/model/{} of {} has {} entries; keys of {} dims have at most {} "
                                  "pairs.",
                                  ropeName("inverse_frequencies", index), nameOf(file), pairs,
                                  dimensions.headDim, dimensions.headDim / 2));
    }
    const bool fits = rope.axes.empty() || std::ssize(rope.axes) == pairs;
    if (!fits || std::ranges::any_of(rope.axes, [](std::uint8_t axis) { return axis > 2; })) {
        throwBadInput(fmt::format("/model/{} of {} must name 0, 1 or 2 for each of {} pairs.",
                                  ropeName("axes", index), nameOf(file), pairs));
    }
    if (!(rope.attentionScaling > 0)) {
        throwBadInput(fmt::format("{} of {} is not a positive number.",
                                  ropeName("attention_scaling", index), nameOf(file)));
    }
}

void checkLayers(hid_t file, const RotationRecord& rotation, const Dimensions& dimensions) {
    const bool known = std::ranges::all_of(
        rotation.ofLayer, [&](std::uint8_t index) { return index < rotation.ropes.size(); });
    if (!rotation.ofLayer.empty() &&
        (!known || std::ssize(rotation.ofLayer) != dimensions.layers)) {
        throwBadInput(fmt::format("/model/rope_of_layer of {} must name one of {} rotary "
                                  "embeddings for each of {} layers.",
                                  nameOf(file), rotation.ropes.size(), dimensions.layers));
    }
}

} // namespace

std::string ropeName(const std::string& what, std::size_t index) {
    return index == 0 ? "rope_" + what : fmt::format("rope_{}_{}", what, index);
}

void readRopes(hid_t group, ModelRecord& model) {
    for (std::size_t i = 0;; ++i) {
        const std::string frequencies = ropeName("inverse_frequencies", i);
        const bool given = hasLink(group, frequencies);
        RopeRecord rope;
        rope.axes = bytesOf(group, ropeName("axes", i));
        if (!given && (i > 0 || rope.axes.empty())) { // the first may follow from rope_theta
            break;
        }
        if (given) {
            rope.inverseFrequencies = readFloats(openDataset(group, frequencies).get());
        }
        const auto scaling = model.attributes.find(ropeName("attention_scaling", i));
        if (scaling != model.attributes.end()) {
            rope.attentionScaling = numberOf(scaling->second);
        }
        model.ropes.push_back(std::move(rope));
    }
    model.ropeOfLayer = bytesOf(group, "rope_of_layer");
}

std::vector<std::array<std::int32_t, 3>> readRopePositions(hid_t file, std::int64_t tokens) {
    std::vector<std::array<std::int32_t, 3>> positions;
    if (!hasLink(file, "prompt/rope_positions")) {
        return positions;
    }
    const Handle dataset = openDataset(file, "prompt/rope_positions");
    if (const auto shape = shapeOf(dataset.get()); shape != std::vector{tokens, std::int64_t{3}}) {
        throwBadInput(fmt::format("{} has shape [{}] instead of [{}, 3].", nameOf(dataset.get()),
                                  fmt::join(shape, ", "), tokens));
    }
    const auto flat = readIntegers<std::int32_t>(dataset.get());
    for (auto at = flat.begin(); at != flat.end(); at += 3) {
        positions.push_back({at[0], at[1], at[2]});
    }
    return positions;
}

std::optional<RotationRecord> readRotation(hid_t file, const Dimensions& dimensions) {
    const auto model = readModelGroup(file);
    if (!model || !model->attributes.contains("rope_style")) {
        return std::nullopt;
    }
    RotationRecord rotation;
    rotation.interleaved = isInterleaved(file, model->attributes.at("rope_style"));
    rotation.ropes = model->ropes;
    rotation.ofLayer = model->ropeOfLayer;
    const bool given = hasLink(file, "model/rope_inverse_frequencies");
    if (!given) {
        const auto plain = frequenciesOf(file, *model, dimensions.headDim);
        if (!plain) {
            return std::nullopt;
        }
        rotation.ropes.resize(1);
        rotation.ropes.front().inverseFrequencies = *plain;
    }
    rotation.positions = readRopePositions(file, dimensions.tokens);
    for (std::size_t i = 0; i < rotation.ropes.size(); ++i) {
        checkRope(file, i, rotation.ropes[i], dimensions);
    }
    checkLayers(file, rotation, dimensions);
    return rotation;
}

} // namespace ecokv::trace
