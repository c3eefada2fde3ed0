// SPDX-License-Identifier: GPL-3.0-or-later
#include "support/golden_file.h"

#include <hdf5.h>

#include <stdexcept>

namespace ecokv::test {

namespace {

/// Closes an HDF5 id at the end of a scope.
class Handle {
public:
    Handle(hid_t id, herr_t (*close)(hid_t), const std::string& what) : m_id(id), m_close(close) {
        if (id < 0) {
            throw std::runtime_error("HDF5 cannot open " + what);
        }
    }
    ~Handle() { m_close(m_id); }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    operator hid_t() const { return m_id; }

private:
    hid_t m_id;
    herr_t (*m_close)(hid_t);
};

} // namespace

GoldenFile::GoldenFile(const std::string& name)
    : m_name(std::string(ECOKV_SOURCE_DIR) + "/tests/data/golden/" + name),
      m_file(H5Fopen(m_name.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT)) {
    if (m_file < 0) {
        throw std::runtime_error("HDF5 cannot open " + m_name);
    }
}

GoldenFile::~GoldenFile() {
    H5Fclose(m_file);
}

GoldenArray GoldenFile::read(const std::string& dataset) const {
    const Handle set(H5Dopen2(m_file, dataset.c_str(), H5P_DEFAULT), H5Dclose,
                     m_name + ":" + dataset);
    const Handle space(H5Dget_space(set), H5Sclose, dataset);
    std::vector<hsize_t> extents(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
    H5Sget_simple_extent_dims(space, extents.data(), nullptr);
    GoldenArray array;
    array.shape.assign(extents.begin(), extents.end());
    array.values.resize(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    if (H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.values.data()) < 0) {
        throw std::runtime_error("HDF5 cannot read " + m_name + ":" + dataset);
    }
    return array;
}

std::vector<std::string> GoldenFile::children(const std::string& group) const {
    const Handle opened(H5Gopen2(m_file, group.c_str(), H5P_DEFAULT), H5Gclose,
                        m_name + ":" + group);
    std::vector<std::string> names;
    const auto collect = [](hid_t, const char* name, const H5L_info_t*, void* list) -> herr_t {
        static_cast<std::vector<std::string>*>(list)->emplace_back(name);
        return 0;
    };
    hsize_t index = 0;
    H5Literate(opened, H5_INDEX_NAME, H5_ITER_INC, &index, collect, &names);
    return names;
}

std::int64_t GoldenFile::openAttribute(const std::string& object, const char* attribute) const {
    if (H5Aexists_by_name(m_file, object.c_str(), attribute, H5P_DEFAULT) <= 0) {
        return -1;
    }
    return H5Aopen_by_name(m_file, object.c_str(), attribute, H5P_DEFAULT, H5P_DEFAULT);
}

std::optional<double> GoldenFile::number(const std::string& object, const char* attribute) const {
    const hid_t id = openAttribute(object, attribute);
    if (id < 0) {
        return std::nullopt;
    }
    const Handle opened(id, H5Aclose, attribute);
    const Handle type(H5Aget_type(opened), H5Tclose, attribute);
    double value = 0;
    if (H5Tget_class(type) == H5T_ENUM) { // a numpy bool: FALSE = 0, TRUE = 1
        std::int8_t flag = 0;
        H5Aread(opened, type, &flag);
        value = flag;
    } else if (H5Aread(opened, H5T_NATIVE_DOUBLE, &value) < 0) {
        throw std::runtime_error("HDF5 cannot read attribute " + std::string(attribute));
    }
    return value;
}

std::optional<std::string> GoldenFile::text(const std::string& object,
                                            const char* attribute) const {
    const hid_t id = openAttribute(object, attribute);
    if (id < 0) {
        return std::nullopt;
    }
    const Handle opened(id, H5Aclose, attribute);
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose, attribute);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    char* raw = nullptr;
    if (H5Aread(opened, type, &raw) < 0) {
        throw std::runtime_error("HDF5 cannot read attribute " + std::string(attribute));
    }
    std::string value(raw);
    H5free_memory(raw);
    return value;
}

} // namespace ecokv::test
