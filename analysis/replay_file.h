#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What a replay found, as the groups a live run writes: a diff of run and replay is a diff of
// datasets. Any thread.

#include "analysis/replay.h"

#include <filesystem>
#include <string>

namespace ecokv::analysis {

/// /policies/<id> of a replay.
trace::PolicyRecord policyRecord(const ReplayResult& replayed, const std::string& id);

struct ReplayFileOptions {
    std::filesystem::path path; ///< of the new file
    std::string producer;       ///< "ecokv 0.1.0"
    bool compact = false;       ///< shuffle + deflate
};

/// Writes /heads, /scores and /policies/0 of a replay with tokenScores; /model, /prompt and /images
/// as the source has them; /run names the source. The tensors stay in the source. Throws
/// Error{BadInput} as TraceWriter does.
void writeReplay(const trace::TraceReader& source, const ReplayResult& replayed,
                 const ReplayFileOptions& options);

} // namespace ecokv::analysis
