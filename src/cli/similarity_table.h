#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// `ecokv geometry --similarity-csv`: token x token similarity of one head, pooled over blocks of
// tokens until it fits. Memory grows with the head's keys and the table's rows, never with the
// square of the tokens.

#include "analysis/trace_document.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace ecokv::cli {

struct SimilarityOptions {
    std::filesystem::path csv; ///< empty = no table
    std::optional<std::int64_t> head, size;
    std::optional<std::string> metric, tokens;
};

void addSimilarityOptions(CLI::App& command, SimilarityOptions& options);

/// Refuses options without a file, and a file without `layer` (-1 = none) and head. To be called
/// before any work. Throws Error{Usage}.
void checkSimilarityOptions(const SimilarityOptions& options, std::int64_t layer);

/// Writes the table. Throws Error{Usage} for a head or tokens that the trace does not have,
/// Error{BadInput} where it holds no keys.
void writeSimilarity(const SimilarityOptions& options, std::int64_t layer,
                     const analysis::TraceDocument& document);

} // namespace ecokv::cli
