// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/csv_file.h"

#include "base/error.h"
#include "base/whole_file.h"

#include <fmt/format.h>

#include <system_error>

namespace ecokv::cli {

void checkCsvPath(const std::filesystem::path& path) {
    std::error_code unreadable; // counts as missing
    const auto folder = path.parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder, unreadable)) {
        throwBadInput(fmt::format("The folder {} for the table does not exist.", folder.string()),
                      "Make it first, or name another file.");
    }
    if (std::filesystem::is_directory(path, unreadable)) {
        throwBadInput(fmt::format("{} is a folder.", path.string()), "Name a file.");
    }
    if (path.extension() != ".csv") {
        throwUsage(fmt::format("The table's file is called \"{}\".", path.string()),
                   "Name a file that ends in .csv, so that nothing else is replaced.");
    }
}

void writeCsv(const std::filesystem::path& path, const std::string& text) {
    writeWholeFile(path, text);
}

} // namespace ecokv::cli
