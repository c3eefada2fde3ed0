// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/whole_file.h"

#include "base/error.h"

#include <fmt/format.h>

#include <fstream>
#include <system_error>

namespace ecokv {

namespace {

namespace fs = std::filesystem;

constexpr const char* kAdvice = "Check the folder, the free space and the permissions.";

[[noreturn]] void throwUnwritable(const fs::path& path, const std::string& why) {
    throwBadInput(fmt::format("{} could not be written: {}.", path.string(), why), kAdvice);
}

/// The file behind links; renaming over a device or a folder would replace that.
fs::path realTarget(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::exists(status) && !fs::is_regular_file(status)) {
        throwUnwritable(path, fs::is_directory(status) ? "it is a folder" : "it is not a file");
    }
    if (!fs::is_symlink(fs::symlink_status(path, error))) {
        return path;
    }
    const fs::path real = fs::canonical(path, error);
    if (error) {
        throwUnwritable(path, "it is a link that leads nowhere");
    }
    return real;
}

/// Removes the unfinished file on every way out but the last.
class PartFile {
public:
    explicit PartFile(const fs::path& real) : m_path(real.string() + ".part") {}
    ~PartFile() {
        std::error_code ignored; // gone already once it was renamed
        if (m_written) {
            fs::remove(m_path, ignored);
        }
    }
    PartFile(const PartFile&) = delete;
    PartFile& operator=(const PartFile&) = delete;

    bool write(const std::string& text) {
        std::error_code error;
        if (fs::exists(m_path, error) && !fs::is_regular_file(m_path, error)) {
            return false; // somebody else's
        }
        std::ofstream file(m_path, std::ios::binary | std::ios::trunc);
        m_written = file.is_open();
        file << text;
        file.close();
        return !file.fail();
    }
    const fs::path& path() const { return m_path; }

private:
    fs::path m_path;
    bool m_written = false;
};

} // namespace

void writeWholeFile(const fs::path& path, const std::string& text) {
    const fs::path real = realTarget(path);
    PartFile part(real);
    if (!part.write(text)) {
        throwUnwritable(path, fmt::format("{} cannot be filled", part.path().string()));
    }
    std::error_code error;
    fs::rename(part.path(), real, error);
    if (error) {
        throwUnwritable(path, error.message());
    }
}

} // namespace ecokv
