#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The names and meanings of the datasets of a saved cache. No HDF5 here.

#include <string>
#include <vector>

namespace ecokv::trace {

inline constexpr const char* kCacheSchemaName = "ecokv-cache";

struct CacheDatasetDoc {
    std::string description;
    std::vector<std::string> axes;
};

/// By the dataset's own name: "keys", "positions", ...
const CacheDatasetDoc& cacheDatasetDoc(const std::string& name);

} // namespace ecokv::trace
