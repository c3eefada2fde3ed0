#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A whole file mapped read-only. Views into it live as long as the shared pointer; the pages are
// loaded by the system when they are first read. Safe to read from any thread.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace ecokv::model {

class MappedFile {
public:
    /// Throws Error{BadInput} naming the file when it cannot be opened or is not a regular file.
    static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::span<const std::byte> bytes() const { return {m_data, m_size}; }
    const std::filesystem::path& path() const { return m_path; }

private:
    MappedFile(std::filesystem::path path, const std::byte* data, std::size_t size);

    std::filesystem::path m_path;
    const std::byte* m_data;
    std::size_t m_size;
};

} // namespace ecokv::model
