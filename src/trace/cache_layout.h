#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The names and meanings of the datasets of a saved cache. No HDF5 here.

#include "trace/cache_file.h"

#include <cstdint>
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

/// By which a change of any stored bit of a layer is noticed; `checksum` of its group.
std::int64_t checksumOf(const CacheLayer& layer);

} // namespace ecokv::trace
