#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Opening and creating trace files: file locks, incomplete copies and foreign formats become
// sentences (field cases F122, F123, F124, F140). Takes the LibraryLock itself.

#include "trace/hdf5/library.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ecokv::trace {

struct ReadableFile {
    Handle file;
    std::vector<std::string> notes; ///< what had to be done to open it
};

/// Throws Error{BadInput}: missing, not HDF5, locked by a writer, cut off.
ReadableFile openForReading(const std::filesystem::path& path);

/// A new file; a left-over of the same name is replaced unless somebody still writes it.
Handle createForWriting(const std::filesystem::path& path);

/// Registers a file as open for reading in this process, for its lifetime.
class ShownFile {
public:
    explicit ShownFile(const std::filesystem::path& path);
    ~ShownFile();
    ShownFile(const ShownFile&) = delete;
    ShownFile& operator=(const ShownFile&) = delete;

private:
    std::string m_key;
};

/// True while a ShownFile of the same file lives.
bool isShown(const std::filesystem::path& path);

} // namespace ecokv::trace
