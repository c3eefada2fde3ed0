// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/hdf5/types.h"

#include "base/error.h"

#include <fmt/format.h>

namespace ecokv::trace {

namespace {

struct FloatFormat {
    std::size_t exponentBits, mantissaBits, bias;
};

// Sign in the top bit, exponent below it, mantissa from bit 0.
Handle halfType(const FloatFormat& format) {
    Handle type(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
    check(H5Tset_fields(type.get(), 15, format.mantissaBits, format.exponentBits, 0,
                        format.mantissaBits),
          -1, "make a 2-byte float type");
    check(H5Tset_size(type.get(), 2), -1, "make a 2-byte float type");
    check(H5Tset_ebias(type.get(), format.bias), -1, "make a 2-byte float type");
    return type;
}

hid_t standardType(DType dtype) {
    switch (dtype) {
    case DType::F32:
        return H5T_IEEE_F32LE;
    case DType::I64:
        return H5T_STD_I64LE;
    case DType::I32:
        return H5T_STD_I32LE;
    default:
        return H5T_STD_U8LE;
    }
}

TypeClass classifyFloat(hid_t type) {
    if (H5Tget_size(type) != 2 || H5Tget_order(type) != H5T_ORDER_LE) {
        return TypeClass::Float;
    }
    const Handle bf16 = storedType(DType::BF16);
    const Handle f16 = storedType(DType::F16);
    if (H5Tequal(type, bf16.get()) > 0) {
        return TypeClass::BF16;
    }
    return H5Tequal(type, f16.get()) > 0 ? TypeClass::F16 : TypeClass::Float;
}

} // namespace

Handle storedType(DType dtype) {
    if (dtype == DType::BF16) {
        return halfType({8, 7, 127});
    }
    if (dtype == DType::F16) {
        return halfType({5, 10, 15});
    }
    return Handle(H5Tcopy(standardType(dtype)), H5Tclose);
}

Handle textType() {
    Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), H5T_VARIABLE);
    H5Tset_cset(type.get(), H5T_CSET_UTF8);
    return type;
}

Handle enumType(const std::vector<const char*>& names) {
    Handle type(H5Tenum_create(H5T_STD_U8LE), H5Tclose);
    std::uint8_t value = 0;
    for (const char* name : names) {
        check(H5Tenum_insert(type.get(), name, &value), -1, "make an enumeration");
        ++value;
    }
    return type;
}

TypeClass classify(hid_t type) {
    switch (H5Tget_class(type)) {
    case H5T_FLOAT:
        return classifyFloat(type);
    case H5T_INTEGER:
        return TypeClass::Integer;
    case H5T_ENUM:
        return TypeClass::Enum;
    case H5T_STRING:
        return TypeClass::Text;
    default:
        return TypeClass::Other;
    }
}

std::string typeName(hid_t type) {
    const std::size_t bits = 8 * H5Tget_size(type);
    switch (classify(type)) {
    case TypeClass::BF16:
        return "bfloat16";
    case TypeClass::F16:
    case TypeClass::Float:
        return fmt::format("float{}", bits);
    case TypeClass::Integer:
        return fmt::format("{}int{}", H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "", bits);
    case TypeClass::Enum:
        return fmt::format("enum of {} bits", bits);
    case TypeClass::Text:
        return "text";
    case TypeClass::Other:
        return "other";
    }
    throwInternal("A stored type has an unknown class.");
}

} // namespace ecokv::trace
