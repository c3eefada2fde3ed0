// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/read_tensors.h"

#include "base/error.h"
#include "trace/hdf5/attributes.h"
#include "trace/hdf5/dataset_access.h"
#include "trace/hdf5/datasets.h"
#include "trace/read_records.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numeric>

namespace ecokv::trace {

namespace {

double numberOf(const Attribute& attribute) {
    if (const auto* number = std::get_if<double>(&attribute)) {
        return *number;
    }
    const auto* whole = std::get_if<std::int64_t>(&attribute);
    return whole != nullptr ? static_cast<double>(*whole) : std::nan("");
}

/// The dtype that holds the stored numbers without loss, float32 for anything unusual.
DType rawType(TypeClass stored) {
    switch (stored) {
    case TypeClass::BF16:
        return DType::BF16;
    case TypeClass::F16:
        return DType::F16;
    default:
        return DType::F32;
    }
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

} // namespace

DType layerDType(hid_t dataset) {
    const Handle type(H5Dget_type(dataset), H5Tclose);
    const TypeClass stored = classify(type.get());
    if (stored == TypeClass::Text || stored == TypeClass::Enum || stored == TypeClass::Other) {
        throwBadInput(fmt::format("{} holds {} where numbers are expected.", nameOf(dataset),
                                  typeName(type.get())));
    }
    return rawType(stored);
}

RawTensor readLayerTensor(hid_t dataset, std::int64_t layer) {
    const std::vector<std::int64_t> shape = shapeOf(dataset);
    const Selection part{{layer, 0, 0, 0}, {1, shape[1], shape[2], shape[3]}};
    const Handle type(H5Dget_type(dataset), H5Tclose);
    const DType dtype = layerDType(dataset);
    const Spaces spaces = selectSpaces(dataset, part);
    checkPlausible(dataset, spaces.elements, dtypeSize(dtype));
    RawTensor tensor(dtype, shape[1], shape[2], shape[3]);
    readRaw(dataset, dtype == DType::F32 ? H5T_NATIVE_FLOAT : type.get(), spaces,
            tensor.view().data);
    return tensor;
}

std::vector<std::int64_t> readPositions(hid_t file, const std::string& path, std::int64_t count,
                                        std::int64_t first) {
    if (hasLink(file, path) && isDataset(file, path)) {
        const Handle dataset = openDataset(file, path);
        if (const auto shape = shapeOf(dataset.get()); shape != std::vector{count}) {
            throwBadInput(fmt::format("{} has shape [{}]; [{}] was expected.",
                                      nameOf(dataset.get()), fmt::join(shape, ", "), count));
        }
        return readIntegers<std::int64_t>(dataset.get());
    }
    std::vector<std::int64_t> positions(static_cast<std::size_t>(count));
    std::iota(positions.begin(), positions.end(), first);
    return positions;
}

std::optional<RotationRecord> readRotation(hid_t file, const Dimensions& dimensions) {
    const auto model = readModelGroup(file);
    if (!model || !model->attributes.contains("rope_style")) {
        return std::nullopt;
    }
    RotationRecord rotation;
    rotation.interleaved = isInterleaved(file, model->attributes.at("rope_style"));
    const std::int64_t pairs = dimensions.headDim / 2;
    if (!model->ropeFrequencies.empty()) {
        if (static_cast<std::int64_t>(model->ropeFrequencies.size()) != pairs) {
            throwBadInput(fmt::format("/model/rope_inverse_frequencies of {} has {} entries; {} "
                                      "were expected.",
                                      nameOf(file), model->ropeFrequencies.size(), pairs));
        }
        rotation.inverseFrequencies = model->ropeFrequencies;
        return rotation;
    }
    const auto theta = model->attributes.find("rope_theta");
    if (theta == model->attributes.end() || isStretched(*model)) {
        return std::nullopt;
    }
    if (!(numberOf(theta->second) > 0)) {
        throwBadInput(fmt::format("rope_theta of {} is not a positive number.", nameOf(file)));
    }
    rotation.inverseFrequencies = plainFrequencies(numberOf(theta->second), dimensions.headDim);
    return rotation;
}

} // namespace ecokv::trace
