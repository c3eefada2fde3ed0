// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/hdf5/library.h"

#include "base/error.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace ecokv::trace {

namespace {

std::recursive_mutex& libraryMutex() {
    static std::recursive_mutex mutex;
    return mutex;
}

// H5get_libversion is the one call that does not abort the process when versions differ.
void initialiseLibrary() {
    // Handles close everything. At exit HDF5 would try once more to write files that could not be
    // closed on a full disk, and crash. Has to be the first call of all.
    H5dont_atexit();
    unsigned majorVersion = 0, minorVersion = 0, release = 0;
    H5get_libversion(&majorVersion, &minorVersion, &release);
    const auto loaded = fmt::format("{}.{}.{}", majorVersion, minorVersion, release);
    const auto built = fmt::format("{}.{}.{}", H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE);
    if (const auto problem = versionProblem(built, loaded); !problem.empty()) {
        throw Error(ErrorKind::BadInput, problem,
                    "Remove the other HDF5 library from LD_LIBRARY_PATH, or build again.");
    }
    H5open();
    // A trace is data: it must not make us open other files.
    H5Lunregister(H5L_TYPE_EXTERNAL);
}

herr_t collectReason(unsigned, const H5E_error2_t* entry, void* reasons) {
    static_cast<std::vector<std::string>*>(reasons)->emplace_back(entry->desc ? entry->desc : "");
    return 0;
}

} // namespace

LibraryLock::LibraryLock() : m_lock(libraryMutex()) {
    static const bool initialised = (initialiseLibrary(), true);
    static_cast<void>(initialised);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); // per thread, cheap
}

std::string versionProblem(const std::string& built, const std::string& loaded) {
    // Releases of one minor version share their binary interface; HDF5 itself wants them equal.
    if (built == loaded) {
        return {};
    }
    return fmt::format("This program was built for HDF5 {} but HDF5 {} was loaded.", built, loaded);
}

Handle::Handle(Handle&& other) noexcept
    : m_id(std::exchange(other.m_id, -1)), m_closer(other.m_closer) {}

Handle& Handle::operator=(Handle&& other) noexcept {
    if (this != &other) {
        reset();
        m_id = std::exchange(other.m_id, -1);
        m_closer = other.m_closer;
    }
    return *this;
}

bool Handle::reset() noexcept {
    if (m_id < 0) {
        return true;
    }
    const LibraryLock lock;
    return m_closer(std::exchange(m_id, -1)) >= 0;
}

std::string lastHdf5Error() {
    std::vector<std::string> reasons;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collectReason, &reasons);
    return reasons.empty() ? std::string() : reasons.front();
}

std::string nameOf(hid_t object) {
    const auto read = [object](auto query) {
        const ssize_t length = query(object, nullptr, std::size_t{0});
        std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
        if (length > 0) {
            query(object, text.data(), text.size() + 1);
        }
        return text;
    };
    const std::string file = read(H5Fget_name);
    const std::string path = H5Iget_type(object) == H5I_FILE ? "" : read(H5Iget_name);
    return path.empty() || path == "/" ? file : path + " in " + file;
}

void throwHdf5(hid_t location, const std::string& action) {
    const std::string reason = lastHdf5Error(); // before any other call clears it
    const std::string name = location >= 0 ? nameOf(location) : std::string();
    throwBadInput(fmt::format("Cannot {}{}{}: HDF5 says \"{}\".", action,
                              name.empty() ? "" : " of ", name,
                              reason.empty() ? "no reason" : reason));
}

Handle own(hid_t id, Handle::Closer closer, hid_t location, const char* action) {
    return Handle(check(id, location, action), closer);
}

bool hasLink(hid_t group, const std::string& name) {
    // H5Lexists fails, rather than says no, when a group on the way is missing.
    for (std::size_t end = name.find('/', 1);; end = name.find('/', end + 1)) {
        const auto part = name.substr(0, end);
        if (H5Lexists(group, part.c_str(), H5P_DEFAULT) <= 0 ||
            H5Oexists_by_name(group, part.c_str(), H5P_DEFAULT) <= 0) {
            return false;
        }
        if (end == std::string::npos) {
            return true;
        }
    }
}

Handle openGroup(hid_t parent, const std::string& name) {
    return own(H5Gopen2(parent, name.c_str(), H5P_DEFAULT), H5Gclose, parent,
               ("open group " + name).c_str());
}

Handle openDataset(hid_t parent, const std::string& name) {
    return own(H5Dopen2(parent, name.c_str(), H5P_DEFAULT), H5Dclose, parent,
               ("open dataset " + name).c_str());
}

Handle createGroup(hid_t parent, const std::string& name) {
    const Handle properties(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    H5Pset_create_intermediate_group(properties.get(), 1);
    return own(H5Gcreate2(parent, name.c_str(), properties.get(), H5P_DEFAULT, H5P_DEFAULT),
               H5Gclose, parent, ("create group " + name).c_str());
}

bool isEmptyGroup(hid_t parent, const std::string& name) {
    if (!hasLink(parent, name)) {
        return true;
    }
    H5O_info_t object{};
    H5G_info_t group{};
    check(H5Oget_info_by_name2(parent, name.c_str(), &object, H5O_INFO_NUM_ATTRS, H5P_DEFAULT),
          parent, "look into a group");
    check(H5Gget_info_by_name(parent, name.c_str(), &group, H5P_DEFAULT), parent,
          "look into a group");
    return object.num_attrs == 0 && group.nlinks == 0;
}

} // namespace ecokv::trace
