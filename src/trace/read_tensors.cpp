// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/read_tensors.h"

#include "base/error.h"
#include "trace/hdf5/dataset_access.h"
#include "trace/hdf5/datasets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

namespace ecokv::trace {

namespace {

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

} // namespace ecokv::trace
