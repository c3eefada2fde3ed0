// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/write_target.h"

#include "base/error.h"
#include "trace/cache_layout.h"
#include "trace/hdf5/attributes.h"
#include "trace/open_files.h"
#include "trace/trace_layout.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <string_view>
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

/// The first bytes of a file, at most eight.
std::string signatureOf(const fs::path& path) {
    std::array<char, 8> head{};
    std::ifstream stream(path, std::ios::binary);
    stream.read(head.data(), head.size());
    return {head.data(), static_cast<std::size_t>(stream.gcount())};
}

/// Nothing yet, an empty file, one of that kind, or the remains of an HDF5 file that nobody can
/// open.
bool mayBeReplaced(const fs::path& real, const TargetKind& kind) {
    std::error_code error;
    if (!fs::exists(real, error) || fs::file_size(real, error) == 0) {
        return true;
    }
    if (signatureOf(real) != std::string_view("\x89HDF\r\n\x1a\n")) {
        return false;
    }
    try {
        const ReadableFile opened = openForReading(real);
        const LibraryLock lock;
        return readText(opened.file.get(), "schema") == kind.schema;
    } catch (const Error&) {
        return true;
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

fs::path checkedTarget(const fs::path& path, const TargetKind& kind) {
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
    if (!mayBeReplaced(real, kind)) {
        throwBadInput(fmt::format("{} exists and is not a {}; it is left as it is.", path.string(),
                                  kind.name),
                      "Name a new file that ends in .h5.");
    }
    return real;
}

fs::path checkedTraceTarget(const fs::path& path) {
    return checkedTarget(path, {"trace", kSchemaName});
}

fs::path checkedCacheTarget(const fs::path& path) {
    return checkedTarget(path, {"saved cache", kCacheSchemaName});
}

} // namespace ecokv::trace
