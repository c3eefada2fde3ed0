// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/weights/mapped_file.h"

#include "base/error.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ecokv::model {

namespace {

class FileDescriptor {
public:
    explicit FileDescriptor(const char* path) : m_fd(::open(path, O_RDONLY | O_CLOEXEC)) {}
    ~FileDescriptor() {
        if (m_fd >= 0) {
            ::close(m_fd);
        }
    }
    FileDescriptor(const FileDescriptor&) = delete;
    FileDescriptor& operator=(const FileDescriptor&) = delete;
    int get() const { return m_fd; }

private:
    int m_fd;
};

[[noreturn]] void throwCannotOpen(const std::filesystem::path& path, int error) {
    throwBadInput(
        fmt::format("The file {} cannot be opened: {}.", path.string(), std::strerror(error)),
        error == EACCES ? "Check its permissions." : "Check that the path is right.");
}

} // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
    const FileDescriptor file(path.c_str());
    if (file.get() < 0) {
        throwCannotOpen(path, errno);
    }
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) {
        throwCannotOpen(path, errno);
    }
    if (!S_ISREG(status.st_mode)) {
        throwBadInput(fmt::format("{} is not a regular file.", path.string()),
                      "Give the path of a file, not of a folder or device.");
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    const std::byte* data = nullptr;
    if (size > 0) { // mapping nothing is an error to the system, but an empty file is not to us
        void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
        if (mapping == MAP_FAILED) {
            throwBadInput(fmt::format("The file {} ({} bytes) cannot be mapped into memory: {}.",
                                      path.string(), size, std::strerror(errno)),
                          "Check the limit on address space (ulimit -v).");
        }
        data = static_cast<const std::byte*>(mapping);
    }
    return std::shared_ptr<const MappedFile>(new MappedFile(path, data, size));
}

MappedFile::MappedFile(std::filesystem::path path, const std::byte* data, std::size_t size)
    : m_path(std::move(path)), m_data(data), m_size(size) {}

MappedFile::~MappedFile() {
    if (m_data != nullptr) {
        ::munmap(const_cast<std::byte*>(m_data), m_size);
    }
}

} // namespace ecokv::model
