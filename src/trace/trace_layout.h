#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Schema 1 as a table: what each dataset means, its unit and the names of its dimensions; and how
// datasets are cut into chunks. No HDF5 here.

#include "trace/trace_records.h"
#include "trace/trace_writer.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ecokv::trace {

inline constexpr const char* kSchemaName = "ecokv-trace";

/// The groups of the root, made before anything else: the root's header then stays as it is.
inline constexpr std::array kGroups{"model", "run",    "prompt",   "images", "tensors",  "scales",
                                    "heads", "scores", "policies", "decode", "questions"};

struct DatasetDoc {
    std::string description;
    std::string unit;              ///< "" = none
    std::vector<std::string> axes; ///< names of the dimensions
};

/// By path with the policy's id left out: "tensors/keys", "policies/kept", "decode/logprob".
/// Unknown heads/... and scores/... get a plain description and the axes of their group.
DatasetDoc documentationOf(const std::string& path);

/// True for the datasets that are themselves the scale of their one dimension.
bool isScale(const std::string& path);

/// Tokens per chunk for rows of `rowBytes`, so that chunks of one (layer, head) are between 256 KiB
/// and 1 MiB and the last one is nearly full (field case F132).
std::int64_t tokensPerChunk(std::int64_t tokens, std::uint64_t rowBytes);

/// Refuses dimensions no trace can have. Throws Error{Usage}.
void checkDimensions(const WriterOptions& options);

} // namespace ecokv::trace
