#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A trace made with plain HDF5 calls, as another program would. Holds the LibraryLock while it
// lives; closed by its destructor.

#include "trace/hdf5/attributes.h"
#include "trace/hdf5/datasets.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace ecokv::test {

class ForeignFile {
public:
    using Shape = std::vector<std::int64_t>;

    explicit ForeignFile(const std::filesystem::path& path)
        : m_file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose) {
        trace::createGroup(m_file.get(), "tensors");
    }

    hid_t get() const { return m_file.get(); }

    /// Element i of the dataset is i.
    trace::Handle add(const std::string& name, const Shape& shape, hid_t type = H5T_IEEE_F64LE) {
        const auto count =
            std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
        std::vector<float> values(static_cast<std::size_t>(count));
        std::iota(values.begin(), values.end(), 0.0F);
        return addValues(name, shape, values, type);
    }

    trace::Handle addValues(const std::string& name, const Shape& shape,
                            const std::vector<float>& values, hid_t type = H5T_IEEE_F32LE) {
        trace::Handle dataset = trace::createDataset(
            m_file.get(), {.name = name, .type = type, .shape = shape, .chunk = {}});
        trace::writeSelection(dataset.get(), H5T_NATIVE_FLOAT, {Shape(shape.size(), 0), shape},
                              values.data());
        return dataset;
    }

    void addIntegers(const std::string& name, const std::vector<std::int64_t>& values) {
        const trace::Handle dataset =
            trace::createDataset(m_file.get(), {.name = name,
                                                .type = H5T_STD_I64LE,
                                                .shape = {static_cast<std::int64_t>(values.size())},
                                                .chunk = {}});
        trace::writeValues(dataset.get(), std::span<const std::int64_t>(values));
    }

private:
    trace::LibraryLock m_lock;
    trace::Handle m_file;
};

} // namespace ecokv::test
