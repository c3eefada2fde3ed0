// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/hdf5/datasets.h"

#include "base/error.h"
#include "base/float_convert.h"
#include "trace/hdf5/dataset_access.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace ecokv::trace {

namespace {

constexpr std::uint64_t kFreelyRead = 64ULL << 20; ///< bytes that need no proof
constexpr std::uint64_t kBestDeflate = 1100;       ///< deflate never shrinks further

std::vector<hsize_t> sizes(const std::vector<std::int64_t>& values) {
    return {values.begin(), values.end()};
}

Handle makeSpace(const std::vector<std::int64_t>& shape) {
    const auto extents = sizes(shape);
    return shape.empty()
               ? Handle(H5Screate(H5S_SCALAR), H5Sclose)
               : own(H5Screate_simple(static_cast<int>(shape.size()), extents.data(), nullptr),
                     H5Sclose, -1, "make a dataset's shape");
}

Handle creationProperties(const DatasetSpec& spec) {
    Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    if (!spec.chunk.empty()) {
        const auto chunk = sizes(spec.chunk);
        check(H5Pset_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data()), -1,
              "set a chunk shape");
    }
    if (spec.deflate) {
        check(H5Pset_shuffle(properties.get()), -1, "set the shuffle filter");
        check(H5Pset_deflate(properties.get(), 4), -1, "set the deflate filter");
    } else if (!spec.shape.empty() && !spec.sparse) {
        // All space is laid out now (the file stays sparse), so that writing values later changes
        // no metadata: a writer killed at any moment leaves what was flushed readable (F124).
        check(H5Pset_alloc_time(properties.get(), H5D_ALLOC_TIME_EARLY), -1, "lay a dataset out");
    }
    check(H5Pset_obj_track_times(properties.get(), false), -1, "lay a dataset out");
    if (H5Tdetect_class(spec.type, H5T_STRING) > 0) {
        return properties; // text is always filled, with nothing
    }
    if (!spec.fillNaN) {
        check(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER), -1, "lay a dataset out");
    } else {
        const float nan = std::numeric_limits<float>::quiet_NaN();
        check(H5Pset_fill_value(properties.get(), H5T_NATIVE_FLOAT, &nan), -1, "set a fill value");
    }
    return properties;
}

std::vector<float> readHalves(hid_t dataset, hid_t type, const Spaces& spaces) {
    const std::size_t count = spaces.elements;
    const auto halves = std::make_unique_for_overwrite<std::uint16_t[]>(count);
    readRaw(dataset, type, spaces, halves.get());
    std::vector<float> values(count);
    if (classify(type) == TypeClass::BF16) {
        std::transform(halves.get(), halves.get() + count, values.begin(), bf16ToFloat);
    } else {
        std::transform(halves.get(), halves.get() + count, values.begin(), f16ToFloat);
    }
    return values;
}

herr_t collectLink(hid_t, const char* name, const H5L_info_t*, void* names) {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
}

} // namespace

Spaces selectSpaces(hid_t dataset, const Selection& selection) {
    Spaces spaces;
    spaces.file = own(H5Dget_space(dataset), H5Sclose, dataset, "read the shape");
    if (selection.start.empty()) {
        const hssize_t points = H5Sget_simple_extent_npoints(spaces.file.get());
        spaces.elements = static_cast<std::uint64_t>(check(points, dataset, "read the shape"));
        return spaces;
    }
    const auto start = sizes(selection.start);
    const auto count = sizes(selection.count);
    check(H5Sselect_hyperslab(spaces.file.get(), H5S_SELECT_SET, start.data(), nullptr,
                              count.data(), nullptr),
          dataset, "select a part");
    if (H5Sselect_valid(spaces.file.get()) <= 0) {
        throwBadInput(fmt::format("{} has no entries [{}] + [{}].", nameOf(dataset),
                                  fmt::join(start, ", "), fmt::join(count, ", ")));
    }
    spaces.memory = makeSpace(selection.count);
    spaces.elements = static_cast<std::uint64_t>(H5Sget_select_npoints(spaces.file.get()));
    return spaces;
}

void checkPlausible(hid_t dataset, std::uint64_t elements, std::size_t elementSize) {
    const std::uint64_t limit = std::numeric_limits<std::int64_t>::max() / 16;
    const std::uint64_t wanted = elements > limit ? limit : elements * elementSize;
    if (wanted <= kFreelyRead) {
        return;
    }
    const Handle file(H5Iget_file_id(dataset), H5Fclose);
    hsize_t fileSize = 0;
    H5Fget_filesize(file.get(), &fileSize);
    const std::uint64_t stored = std::min<std::uint64_t>(H5Dget_storage_size(dataset), fileSize);
    if (wanted / kBestDeflate > stored) {
        throwBadInput(fmt::format("{} claims {} values but holds only {} bytes of data.",
                                  nameOf(dataset), elements, stored));
    }
}

void readRaw(hid_t dataset, hid_t memoryType, const Spaces& spaces, void* target) {
    if (const auto problem = storageProblem(dataset); !problem.empty()) {
        throwBadInput(fmt::format("{} cannot be read: {}", nameOf(dataset), problem));
    }
    const hid_t memory = spaces.memory ? spaces.memory.get() : H5S_ALL;
    const hid_t file = spaces.memory ? spaces.file.get() : H5S_ALL;
    check(H5Dread(dataset, memoryType, memory, file, H5P_DEFAULT, target), dataset,
          "read the values");
}

Handle createDataset(hid_t group, const DatasetSpec& spec) {
    const Handle space = makeSpace(spec.shape);
    const Handle properties = creationProperties(spec);
    const std::string action = "create dataset " + spec.name;
    return own(H5Dcreate2(group, spec.name.c_str(), spec.type, space.get(), H5P_DEFAULT,
                          properties.get(), H5P_DEFAULT),
               H5Dclose, group, action.c_str());
}

template <class T> void writeValues(hid_t dataset, std::span<const T> values) {
    const Spaces spaces = selectSpaces(dataset, {});
    if (spaces.elements != values.size()) {
        throwInternal(fmt::format("{} values were given for {} of {}.", values.size(),
                                  spaces.elements, nameOf(dataset)));
    }
    check(H5Dwrite(dataset, memoryType<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), dataset,
          "write the values");
}

template void writeValues(hid_t, std::span<const float>);
template void writeValues(hid_t, std::span<const std::int64_t>);
template void writeValues(hid_t, std::span<const std::int32_t>);
template void writeValues(hid_t, std::span<const std::uint8_t>);

void writeSelection(hid_t dataset, hid_t memoryType, const Selection& selection, const void* data) {
    const Spaces spaces = selectSpaces(dataset, selection);
    check(H5Dwrite(dataset, memoryType, spaces.memory.get(), spaces.file.get(), H5P_DEFAULT, data),
          dataset, "write the values");
}

std::vector<std::int64_t> shapeOf(hid_t dataset) {
    const Handle space = own(H5Dget_space(dataset), H5Sclose, dataset, "read the shape");
    std::vector<hsize_t> extents(H5S_MAX_RANK);
    const int rank = check(H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr), dataset,
                           "read the shape");
    extents.resize(static_cast<std::size_t>(rank));
    if (std::any_of(extents.begin(), extents.end(), [](hsize_t extent) {
            return extent > static_cast<hsize_t>(std::numeric_limits<std::int64_t>::max());
        })) {
        throwBadInput(fmt::format("{} has an impossible shape.", nameOf(dataset)));
    }
    return {extents.begin(), extents.end()};
}

std::vector<float> readFloats(hid_t dataset, const Selection& selection) {
    const Spaces spaces = selectSpaces(dataset, selection);
    checkPlausible(dataset, spaces.elements, sizeof(float));
    const Handle type(H5Dget_type(dataset), H5Tclose);
    switch (classify(type.get())) {
    case TypeClass::BF16:
    case TypeClass::F16:
        return readHalves(dataset, type.get(), spaces);
    case TypeClass::Float:
    case TypeClass::Integer: {
        std::vector<float> values(spaces.elements);
        readRaw(dataset, H5T_NATIVE_FLOAT, spaces, values.data());
        return values;
    }
    default:
        throwBadInput(fmt::format("{} holds {} where numbers are expected.", nameOf(dataset),
                                  typeName(type.get())));
    }
}

template <class T> std::vector<T> readIntegers(hid_t dataset) {
    const Spaces spaces = selectSpaces(dataset, {});
    checkPlausible(dataset, spaces.elements, sizeof(T));
    const Handle type(H5Dget_type(dataset), H5Tclose);
    const TypeClass kind = classify(type.get());
    std::vector<T> values(spaces.elements);
    if (kind == TypeClass::Integer) {
        readRaw(dataset, memoryType<T>(), spaces, values.data());
    } else if (kind == TypeClass::Enum && H5Tget_size(type.get()) == sizeof(T)) {
        readRaw(dataset, type.get(), spaces, values.data()); // names are for people
    } else {
        throwBadInput(fmt::format("{} holds {} where integers are expected.", nameOf(dataset),
                                  typeName(type.get())));
    }
    return values;
}

template std::vector<std::int64_t> readIntegers(hid_t);
template std::vector<std::int32_t> readIntegers(hid_t);
template std::vector<std::uint8_t> readIntegers(hid_t);

std::string storageProblem(hid_t dataset) {
    const Handle properties(H5Dget_create_plist(dataset), H5Pclose);
    if (!properties) {
        return "its description is damaged.";
    }
    if (H5Pget_external_count(properties.get()) > 0 ||
        H5Pget_layout(properties.get()) == H5D_VIRTUAL) {
        return "its values lie in other files, which are not opened.";
    }
    const int filters = H5Pget_nfilters(properties.get());
    for (int i = 0; i < filters; ++i) {
        unsigned flags = 0, config = 0;
        std::size_t values = 0;
        char name[64] = "";
        const H5Z_filter_t filter =
            H5Pget_filter2(properties.get(), static_cast<unsigned>(i), &flags, &values, nullptr,
                           sizeof name, name, &config);
        if (H5Zfilter_avail(filter) <= 0) {
            return fmt::format("it was written with HDF5 filter {}{}{}, which is not installed.",
                               static_cast<int>(filter), name[0] ? " " : "", name);
        }
    }
    return {};
}

std::vector<std::string> linkNames(hid_t group) {
    std::vector<std::string> names;
    hsize_t position = 0;
    check(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &position, collectLink, &names), group,
          "list the contents");
    std::erase_if(names, [group](const std::string& name) { return !hasLink(group, name); });
    return names;
}

bool isDataset(hid_t group, const std::string& name) {
    const Handle object(H5Oopen(group, name.c_str(), H5P_DEFAULT), H5Oclose);
    return object && H5Iget_type(object.get()) == H5I_DATASET;
}

} // namespace ecokv::trace
