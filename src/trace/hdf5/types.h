#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// HDF5 types of the trace format. Hold a LibraryLock.

#include "base/tensor_view.h"
#include "trace/hdf5/library.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ecokv::trace {

/// Little-endian type as stored; BF16 is a 2-byte float with 8 exponent bits.
Handle storedType(DType dtype);
/// Variable-length UTF-8 text.
Handle textType();
/// An enumeration of u8 values 0, 1, ... with these names.
Handle enumType(const std::vector<const char*>& names);

/// What a stored type is to us.
enum class TypeClass : std::uint8_t { Float, BF16, F16, Integer, Enum, Text, Other };
TypeClass classify(hid_t type);
/// "float32", "bfloat16", "uint8", "enum of 8 bits", "text", "other".
std::string typeName(hid_t type);

/// The memory type HDF5 converts to.
template <class T> hid_t memoryType();
template <> inline hid_t memoryType<float>() {
    return H5T_NATIVE_FLOAT;
}
template <> inline hid_t memoryType<double>() {
    return H5T_NATIVE_DOUBLE;
}
template <> inline hid_t memoryType<std::int64_t>() {
    return H5T_NATIVE_INT64;
}
template <> inline hid_t memoryType<std::int32_t>() {
    return H5T_NATIVE_INT32;
}
template <> inline hid_t memoryType<std::uint8_t>() {
    return H5T_NATIVE_UINT8;
}

} // namespace ecokv::trace
