// SPDX-License-Identifier: GPL-3.0-or-later
// The text part of datasets.h.
#include "trace/hdf5/dataset_access.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace ecokv::trace {

namespace {

constexpr std::uint64_t kMostText = 1ULL << 30;  ///< bytes of one text dataset
constexpr std::size_t kTextBlock = 4096;         ///< strings per read
constexpr const char* kNulSign = "\xE2\x90\x80"; ///< U+2400

/// HDF5 text ends at the first NUL; a token may hold one.
std::string withoutNul(const std::string& text) {
    std::string result;
    result.reserve(text.size());
    for (const char c : text) {
        if (c == '\0') {
            result += kNulSign;
        } else {
            result += c;
        }
    }
    return result;
}

Handle textMemoryType(hid_t dataset, hid_t stored) {
    Handle memory = textType();
    // HDF5 does not convert between character sets; ASCII is UTF-8 anyway.
    check(H5Tset_cset(memory.get(), H5Tget_cset(stored)), dataset, "read the text type");
    return memory;
}

std::vector<std::string> readFixedTexts(hid_t dataset, hid_t type, const Spaces& spaces) {
    const std::size_t size = H5Tget_size(type);
    checkPlausible(dataset, spaces.elements, size);
    std::string raw(size * spaces.elements, '\0');
    readRaw(dataset, type, spaces, raw.data());
    std::vector<std::string> values(spaces.elements);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = raw.substr(i * size, size).c_str(); // up to the padding
    }
    return values;
}

/// Appends one block of variable-length texts and returns their bytes.
std::uint64_t readTextBlock(hid_t dataset, hid_t memoryType, const Spaces& spaces,
                            std::vector<std::string>& values) {
    std::vector<char*> pointers(spaces.elements, nullptr);
    readRaw(dataset, memoryType, spaces, static_cast<void*>(pointers.data()));
    std::uint64_t bytes = 0;
    for (const char* pointer : pointers) {
        values.emplace_back(pointer ? pointer : "");
        bytes += values.back().size();
    }
    const hsize_t count = pointers.size();
    const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
    H5Dvlen_reclaim(memoryType, space.get(), H5P_DEFAULT, static_cast<void*>(pointers.data()));
    return bytes;
}

} // namespace

Handle writeTextDataset(hid_t group, const std::string& name, const std::string& text) {
    const Handle type = textType();
    Handle dataset = createDataset(group, {.name = name, .type = type.get()});
    const std::string clean = withoutNul(text);
    const char* pointer = clean.c_str();
    check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, &pointer),
          dataset.get(), "write the text");
    return dataset;
}

void writeTextValues(hid_t dataset, const std::vector<std::string>& values) {
    const Handle type = textType();
    std::vector<std::string> clean;
    std::transform(values.begin(), values.end(), std::back_inserter(clean), withoutNul);
    std::vector<const char*> pointers;
    for (const auto& value : clean) {
        pointers.push_back(value.c_str());
    }
    check(H5Dwrite(dataset, type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                   static_cast<const void*>(pointers.data())),
          dataset, "write the text");
}

std::vector<std::string> readTextDataset(hid_t dataset) {
    const Handle type(H5Dget_type(dataset), H5Tclose);
    if (classify(type.get()) != TypeClass::Text) {
        throwBadInput(fmt::format("{} holds {} where text is expected.", nameOf(dataset),
                                  typeName(type.get())));
    }
    const Spaces all = selectSpaces(dataset, {});
    if (H5Tis_variable_str(type.get()) <= 0) {
        return readFixedTexts(dataset, type.get(), all);
    }
    checkPlausible(dataset, all.elements, sizeof(char*) * 2);
    const Handle memory = textMemoryType(dataset, type.get());
    std::vector<std::string> values;
    if (shapeOf(dataset).size() != 1) {
        readTextBlock(dataset, memory.get(), all, values);
        return values;
    }
    std::uint64_t bytes = 0;
    for (std::size_t begin = 0; begin < all.elements; begin += kTextBlock) {
        const auto count = std::min<std::size_t>(kTextBlock, all.elements - begin);
        const Selection block{{static_cast<std::int64_t>(begin)},
                              {static_cast<std::int64_t>(count)}};
        bytes += readTextBlock(dataset, memory.get(), selectSpaces(dataset, block), values);
        if (bytes > kMostText) {
            throwBadInput(
                fmt::format("{} holds more than {} bytes of text.", nameOf(dataset), kMostText));
        }
    }
    return values;
}

} // namespace ecokv::trace
