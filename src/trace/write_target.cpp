// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/write_target.h"

#include "base/error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace ecokv::trace {

namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40; ///< as Linux follows
constexpr const char* kAdvice = "Give a file name ending in .ecokv.h5.";

[[noreturn]] void throwUnwritable(const fs::path& path, const std::string& why,
                                  const std::string& advice = {}) {
    throwBadInput(fmt::format("{} cannot be written: {}.", path.string(), why), advice);
}

/// Follows the last component only: the system follows links among the folders itself.
fs::path withoutLinks(const fs::path& path) {
    fs::path real = path;
    for (int i = 0; i < kMostLinks; ++i) {
        std::error_code error;
        if (!fs::is_symlink(fs::symlink_status(real, error))) {
            return real;
        }
        const fs::path next = fs::read_symlink(real, error);
        if (error) {
            throwUnwritable(path, error.message());
        }
        real = real.parent_path() / next; // an absolute `next` replaces the folder
    }
    throwUnwritable(path, "its links lead nowhere", kAdvice);
}

void checkFolder(const fs::path& path, const fs::path& folder) {
    std::error_code error;
    const fs::file_status status = fs::status(folder, error);
    if (!fs::exists(status)) {
        throwUnwritable(path, fmt::format("the folder {} does not exist", folder.string()),
                        "Create the folder first.");
    }
    if (!fs::is_directory(status)) {
        throwUnwritable(path, fmt::format("{} is not a folder", folder.string()), kAdvice);
    }
    if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
        const std::string reason = std::generic_category().message(errno);
        throwUnwritable(
            path,
            fmt::format("no file can be created in the folder {} ({})", folder.string(), reason),
            "Choose a folder of your own.");
    }
}

} // namespace

std::string obstacleName(fs::file_type type) {
    switch (type) {
    case fs::file_type::regular:
    case fs::file_type::not_found:
        return {};
    case fs::file_type::directory:
        return "a folder";
    case fs::file_type::fifo:
        return "a pipe";
    case fs::file_type::socket:
        return "a socket";
    case fs::file_type::character:
    case fs::file_type::block:
        return "a device";
    case fs::file_type::symlink:
        return "a link";
    default:
        return "not a file";
    }
}

fs::path checkedTarget(const fs::path& path) {
    // Asked of the name as given: what lies behind /proc/self/fd/1 has no path to follow.
    std::error_code error;
    const fs::file_type type = fs::status(path, error).type();
    if (type == fs::file_type::none) {
        throwUnwritable(path, error.message(), kAdvice);
    }
    if (const std::string obstacle = obstacleName(type); !obstacle.empty()) {
        throwUnwritable(path, "it is " + obstacle, kAdvice);
    }
    fs::path real = withoutLinks(path);
    checkFolder(path, real.has_parent_path() ? real.parent_path() : ".");
    const fs::path part = real.string() + ".part";
    const std::string obstacle = obstacleName(fs::symlink_status(part, error).type());
    if (!obstacle.empty()) {
        throwUnwritable(path, fmt::format("{}, needed meanwhile, is {}", part.string(), obstacle),
                        "Remove it, or give another file name ending in .ecokv.h5.");
    }
    return real;
}

} // namespace ecokv::trace
