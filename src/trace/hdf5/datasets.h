#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Creating, writing and reading datasets. Reads check sizes before they allocate, so that a
// nonsense file yields Error{BadInput}. Hold a LibraryLock.

#include "trace/hdf5/library.h"
#include "trace/hdf5/types.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ecokv::trace {

struct DatasetSpec {
    std::string name;
    hid_t type = -1;
    std::vector<std::int64_t> shape = {}; ///< empty = scalar
    std::vector<std::int64_t> chunk = {}; ///< empty = contiguous
    bool deflate = false;                 ///< shuffle + deflate; needs chunks
    bool fillNaN = false;                 ///< unwritten elements read as NaN
    bool sparse = false;                  ///< unwritten chunks take no space; needs fillNaN
};

Handle createDataset(hid_t group, const DatasetSpec& spec);
/// Scalar text.
Handle writeTextDataset(hid_t group, const std::string& name, const std::string& text);
/// One-dimensional text. NUL bytes become U+2400, for HDF5 text ends at them.
void writeTextValues(hid_t dataset, const std::vector<std::string>& values);

/// A rectangular part of a dataset; empty = all of it.
struct Selection {
    std::vector<std::int64_t> start, count;
};

template <class T> void writeValues(hid_t dataset, std::span<const T> values);
/// `data` is row-major in `memoryType`.
void writeSelection(hid_t dataset, hid_t memoryType, const Selection& selection, const void* data);

std::vector<std::int64_t> shapeOf(hid_t dataset);
/// Floats of any stored width; bf16 and f16 are widened here, faster than HDF5 does it.
std::vector<float> readFloats(hid_t dataset, const Selection& selection = {});
/// Integers or an enumeration.
template <class T> std::vector<T> readIntegers(hid_t dataset);
std::vector<std::string> readTextDataset(hid_t dataset);

/// Why the dataset's values cannot be read here ("" = they can): filters (F130), external storage.
std::string storageProblem(hid_t dataset);

/// Names of the links of a group, sorted; dangling ones left out.
std::vector<std::string> linkNames(hid_t group);
bool isDataset(hid_t group, const std::string& name);

} // namespace ecokv::trace
