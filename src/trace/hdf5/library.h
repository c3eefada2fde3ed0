#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The door to the HDF5 library: its one process-wide lock, handles that close themselves, and
// errors that name the file and the object. Hold a LibraryLock around every HDF5 call.

#include <hdf5.h>

#include <mutex>
#include <string>

namespace ecokv::trace {

/// Holds the process-wide HDF5 lock (field case F133). Recursive, so that handles may close inside.
/// The first one checks the library's version (F141) and switches external links off.
class LibraryLock {
public:
    LibraryLock();

private:
    std::unique_lock<std::recursive_mutex> m_lock;
};

/// Why a library of version `loaded` cannot serve a program built for `built`; "" if it can.
std::string versionProblem(const std::string& built, const std::string& loaded);

/// Owns one HDF5 identifier. Closes it under the lock; never throws from there.
class Handle {
public:
    using Closer = herr_t (*)(hid_t);

    Handle() = default;
    Handle(hid_t id, Closer closer) : m_id(id), m_closer(closer) {}
    ~Handle() { reset(); }
    Handle(Handle&& other) noexcept;
    Handle& operator=(Handle&& other) noexcept;
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;

    hid_t get() const { return m_id; }
    explicit operator bool() const { return m_id >= 0; }
    /// Closes now; false if HDF5 reported an error (a full disk shows here).
    bool reset() noexcept;

private:
    hid_t m_id = -1;
    Closer m_closer = nullptr;
};

/// HDF5's own words for the last failure, innermost first; "" if it left none.
std::string lastHdf5Error();

/// "/tensors/keys in run.ecokv.h5", from any identifier of an open file.
std::string nameOf(hid_t object);

/// Throws Error{BadInput}: "Cannot <action> <object>: <HDF5's reason>."
[[noreturn]] void throwHdf5(hid_t location, const std::string& action);

/// Returns `result` unless it is HDF5's failure value.
template <class T> T check(T result, hid_t location, const char* action) {
    if (result < 0) {
        throwHdf5(location, action);
    }
    return result;
}

/// An owned handle, or the error above.
Handle own(hid_t id, Handle::Closer closer, hid_t location, const char* action);

/// True if a link of this name exists and leads to an object.
bool hasLink(hid_t group, const std::string& name);
Handle openGroup(hid_t parent, const std::string& name);
Handle openDataset(hid_t parent, const std::string& name);
/// Makes the group and the missing ones above it.
Handle createGroup(hid_t parent, const std::string& name);
/// True for a missing group and for one without links and attributes.
bool isEmptyGroup(hid_t parent, const std::string& name);

} // namespace ecokv::trace
