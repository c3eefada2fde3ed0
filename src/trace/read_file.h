#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// An open trace and what its shapes say: dimensions, what is missing, a list of datasets. Hold a
// LibraryLock.

#include "trace/hdf5/library.h"
#include "trace/trace_reader.h"

#include <string>
#include <vector>

namespace ecokv::trace {

struct FileSummary {
    Dimensions dimensions;
    bool isOurs = false; ///< carries our schema name
    bool complete = false;
    std::int64_t layersWritten = 0; ///< layers whose tensors can be read
    std::vector<std::string> problems;
};

/// Throws Error{BadInput}: a newer schema, no tensors, shapes that contradict each other.
FileSummary summarise(hid_t file);

std::vector<DatasetEntry> listDatasets(hid_t file);

/// Names of the float datasets of `group` with exactly this shape.
std::vector<std::string> namesOfShape(hid_t file, const std::string& group,
                                      const std::vector<std::int64_t>& shape);

} // namespace ecokv::trace
