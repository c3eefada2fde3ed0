#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A file with a given text in the temporary folder, gone when the test ends.

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

namespace ecokv::policy::test {

class TableFile {
public:
    explicit TableFile(const std::string& text) {
        static int count = 0;
        m_path =
            std::filesystem::temp_directory_path() /
            ("ecokv-table-" + std::to_string(getpid()) + "-" + std::to_string(count++) + ".json");
        std::ofstream(m_path, std::ios::binary) << text;
    }
    ~TableFile() {
        std::error_code ignored;
        std::filesystem::remove(m_path, ignored);
    }
    TableFile(const TableFile&) = delete;
    TableFile& operator=(const TableFile&) = delete;

    std::string path() const { return m_path.string(); }

private:
    std::filesystem::path m_path;
};

} // namespace ecokv::policy::test
