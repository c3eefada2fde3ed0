#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// CSV files that commands write beside what they print. Throws Error{Usage} and Error{BadInput}.

#include <filesystem>
#include <string>

namespace ecokv::cli {

/// To be called before the work is done: refuses folders, folders that are missing, and names that
/// do not end in .csv, so that no trace or picture is replaced.
void checkCsvPath(const std::filesystem::path& path);
/// Whole or not at all: an older table stays until the new one is complete.
void writeCsv(const std::filesystem::path& path, const std::string& text);

} // namespace ecokv::cli
