#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A compressed context between two processes: the cache with what questions need, written to and
// read from a file of trace/cache_file.h. A file of another model, shape or dtype is refused.

#include "cache/kv_cache.h"
#include "model/model.h"
#include "policy/policy_config.h"
#include "session/query_window.h"
#include "trace/cache_file.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ecokv::session {

struct SavedContext {
    cache::KvCache cache;
    QueryWindows windows;      ///< [layer] last query rows of the prompt
    trace::CacheRecord record; ///< prompt, policy, question tail
};

/// What is said of a context besides its rows.
trace::CacheRecord contextRecord(model::Model& model, const model::Prompt& prompt,
                                 const policy::ResolvedPolicy& policy, const cache::KvCache& cache);

void saveContext(const std::filesystem::path& path, const trace::CacheRecord& record,
                 const cache::KvCache& cache, const QueryWindows& windows);

/// Throws Error{BadInput}: unreadable, or not of `model` as it is loaded.
SavedContext loadContext(const std::filesystem::path& path, model::Model& model);

} // namespace ecokv::session
