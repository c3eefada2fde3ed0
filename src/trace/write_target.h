#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Where a trace may be written: a new name or a regular file, in a folder that can be written.
// Devices, pipes, sockets and folders are refused, since the closing rename would replace them.

#include <filesystem>
#include <string>

namespace ecokv::trace {

/// "a device", "a folder", "a pipe", ...; empty where a trace may go (a file, or nothing yet).
std::string obstacleName(std::filesystem::file_type type);

/// What a target is to become; an earlier one of the same kind may be replaced, nothing else.
struct TargetKind {
    const char* name = "";   ///< in sentences: "trace"
    const char* schema = ""; ///< the attribute of the file by which it is known again
};

/// The file to write for `path`: symbolic links are followed, so that they stay. Throws
/// Error{BadInput} if that file, its .part or its folder cannot be written, or if it holds
/// something else than `kind`: a picture, weights, another program's HDF5 file.
std::filesystem::path checkedTarget(const std::filesystem::path& path, const TargetKind& kind);

/// As checkedTarget, for the two kinds there are.
std::filesystem::path checkedTraceTarget(const std::filesystem::path& path);
std::filesystem::path checkedCacheTarget(const std::filesystem::path& path);

} // namespace ecokv::trace
