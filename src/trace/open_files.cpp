// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/open_files.h"

#include "base/error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <set>

namespace ecokv::trace {

namespace {

namespace fs = std::filesystem;

std::multiset<std::string>& shownFiles() {
    static std::multiset<std::string> files; // guarded by the LibraryLock
    return files;
}

std::string keyOf(const fs::path& path) {
    std::error_code error;
    const fs::path canonical = fs::weakly_canonical(path, error);
    return error ? path.string() : canonical.string();
}

constexpr const char* kWriters = "`ecokv run --trace FILE` writes a trace (*.ecokv.h5), `ecokv run "
                                 "--save-cache FILE` a saved cache.";

/// The number after `label` in HDF5's words.
std::optional<std::uint64_t> numberAfter(const std::string& text, const std::string& label) {
    const auto found = text.find(label);
    if (found == std::string::npos) {
        return std::nullopt;
    }
    const char* digits = text.c_str() + found + label.size();
    return std::strtoull(digits, nullptr, 10);
}

[[noreturn]] void throwBeingWritten(const fs::path& path) {
    throwBadInput(
        fmt::format("{} is locked: another program is writing it, or has it open.", path.string()),
        "Wait until that run has ended, or close the file there.");
}

/// True if the failure is a missing lock service, as on some network disks (F123).
bool lockUnsupported(const std::string& reason) {
    const auto code = numberAfter(reason, "errno = ");
    return reason.find("lock file") != std::string::npos && code && *code != EAGAIN;
}

[[noreturn]] void explainFailure(const fs::path& path, const std::string& reason) {
    if (reason.find("lock file") != std::string::npos) {
        throwBeingWritten(path);
    }
    const auto real = numberAfter(reason, "truncated file: eof = ");
    const auto stored = numberAfter(reason, "stored_eof = ");
    if (real && stored) {
        throwBadInput(fmt::format("{} is incomplete: it holds {} of {} bytes; the rest was cut "
                                  "off when it was copied or when the disk was full.",
                                  path.string(), *real, *stored),
                      "Copy it again, or repeat the run.");
    }
    throwBadInput(fmt::format("{} cannot be opened: HDF5 says \"{}\".", path.string(), reason),
                  "It is damaged: copy it again, or repeat the run.");
}

void checkIsReadable(const fs::path& path) {
    std::error_code error;
    if (!fs::exists(path, error)) {
        const fs::path part = path.string() + ".part";
        throwBadInput(fmt::format("{} does not exist.", path.string()),
                      fs::exists(part, error)
                          ? fmt::format("An unfinished run left {}; open that.", part.string())
                          : fmt::format("Check the path. {}", kWriters));
    }
    if (!fs::is_regular_file(path, error)) {
        throwBadInput(fmt::format("{} is not a file.", path.string()),
                      fmt::format("Name the file itself. {}", kWriters));
    }
    if (::access(path.c_str(), R_OK) != 0) {
        throwBadInput(fmt::format("{} cannot be read: {}.", path.string(), std::strerror(errno)),
                      "Allow it with chmod +r, or ask its owner to.");
    }
}

/// Opens without HDF5's file lock; for reading only.
Handle openUnlocked(const fs::path& path) {
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_file_locking(access.get(), false, true);
    return Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
}

/// Deletes what an earlier run left under this name, unless that run still goes on.
void removeLeftover(const fs::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor < 0) {
        return; // not there, or H5Fcreate will say why
    }
    const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    ::close(descriptor);
    if (locked) {
        throwBeingWritten(path);
    }
    ::unlink(path.c_str());
}

/// Between two flushes nothing of the metadata goes to disk, so that a killed writer leaves the
/// file as of its last flush (F124).
void holdMetadataUntilFlush(hid_t access) {
    H5AC_cache_config_t config{};
    config.version = H5AC__CURR_CACHE_CONFIG_VERSION;
    H5Pget_mdc_config(access, &config);
    config.evictions_enabled = false;
    config.incr_mode = H5C_incr__off;
    config.flash_incr_mode = H5C_flash_incr__off;
    config.decr_mode = H5C_decr__off;
    check(H5Pset_mdc_config(access, &config), -1, "configure the metadata cache");
}

} // namespace

ReadableFile openForReading(const fs::path& path) {
    checkIsReadable(path);
    const LibraryLock lock;
    ReadableFile result;
    result.file = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (result.file) {
        return result;
    }
    const std::string reason = lastHdf5Error();
    if (lockUnsupported(reason)) {
        result.file = openUnlocked(path);
        if (result.file) {
            result.notes.push_back("The file system offers no file locks; the file was opened "
                                   "without one, so nothing may write it meanwhile.");
            return result;
        }
    }
    if (reason.find("file signature not found") != std::string::npos) {
        throwBadInput(fmt::format("{} is not a trace: it is not an HDF5 file.", path.string()),
                      kWriters);
    }
    explainFailure(path, reason);
}

Handle createForWriting(const fs::path& path) {
    removeLeftover(path);
    const LibraryLock lock;
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    // The 1.8 format has checksums in its headers, so that damage is noticed rather than followed.
    // Later ones mark the file as open, and a killed writer would leave it refused.
    check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18), -1,
          "choose the file format");
    holdMetadataUntilFlush(access.get());
    Handle file(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access.get()), H5Fclose);
    if (file) {
        return file;
    }
    const std::string reason = lastHdf5Error();
    if (lockUnsupported(reason)) {
        ::unlink(path.c_str());
        throwBadInput(fmt::format("{} cannot be written safely: its file system offers no file "
                                  "locks (HDF5 says \"{}\").",
                                  path.string(), reason),
                      "Write to a local disk, or set HDF5_USE_FILE_LOCKING=FALSE if no other "
                      "program opens the file meanwhile.");
    }
    throwBadInput(fmt::format("{} cannot be created: HDF5 says \"{}\".", path.string(), reason));
}

ShownFile::ShownFile(const fs::path& path) : m_key(keyOf(path)) {
    const LibraryLock lock;
    shownFiles().insert(m_key);
}

ShownFile::~ShownFile() {
    const LibraryLock lock;
    shownFiles().erase(shownFiles().find(m_key));
}

bool isShown(const fs::path& path) {
    const LibraryLock lock;
    return shownFiles().contains(keyOf(path));
}

} // namespace ecokv::trace
