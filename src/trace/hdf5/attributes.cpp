// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/hdf5/attributes.h"

#include "trace/hdf5/datasets.h"
#include "trace/hdf5/types.h"

#include <fmt/ranges.h>

#include <utility>

namespace ecokv::trace {

namespace {

constexpr const char* kLongTextMark = "is_attribute_of_group";

Handle createAttribute(hid_t object, const std::string& name, hid_t type, hid_t space) {
    if (H5Aexists(object, name.c_str()) > 0) {
        check(H5Adelete(object, name.c_str()), object, "replace an attribute");
    }
    return own(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
               object, ("write attribute " + name).c_str());
}

template <class T>
void writeScalar(hid_t object, const std::string& name, hid_t fileType, T value) {
    if (H5Aexists(object, name.c_str()) > 0) { // in place: nothing moves in the header
        const Handle existing(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
        check(H5Awrite(existing.get(), memoryType<T>(), &value), object, "change an attribute");
        return;
    }
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Handle attribute = createAttribute(object, name, fileType, space.get());
    check(H5Awrite(attribute.get(), memoryType<T>(), &value), object, "write an attribute");
}

/// One attribute's text values, fixed or variable length.
std::vector<std::string> readTextValues(hid_t attribute, hid_t type, std::size_t count) {
    std::vector<std::string> values(count);
    if (H5Tis_variable_str(type) > 0) {
        const Handle memory(H5Tcopy(type), H5Tclose);
        const Handle space(H5Aget_space(attribute), H5Sclose);
        std::vector<char*> pointers(count, nullptr);
        check(H5Aread(attribute, memory.get(), static_cast<void*>(pointers.data())), attribute,
              "read an attribute");
        for (std::size_t i = 0; i < count; ++i) {
            values[i] = pointers[i] ? pointers[i] : "";
        }
        H5Dvlen_reclaim(memory.get(), space.get(), H5P_DEFAULT,
                        static_cast<void*>(pointers.data()));
        return values;
    }
    const std::size_t size = H5Tget_size(type);
    std::string raw(size * count, '\0');
    check(H5Aread(attribute, type, raw.data()), attribute, "read an attribute");
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = raw.substr(i * size, size).c_str(); // up to the padding
    }
    return values;
}

std::optional<Attribute> readValue(hid_t attribute) {
    const Handle type(H5Aget_type(attribute), H5Tclose);
    const Handle space(H5Aget_space(attribute), H5Sclose);
    const hssize_t count = H5Sget_simple_extent_npoints(space.get());
    const TypeClass kind = classify(type.get());
    if (kind == TypeClass::Text && count >= 1 && count <= 4096) {
        const auto values = readTextValues(attribute, type.get(), static_cast<std::size_t>(count));
        return fmt::format("{}", fmt::join(values, ", "));
    }
    if (count != 1) {
        return std::nullopt;
    }
    if (kind == TypeClass::Integer) {
        std::int64_t value = 0;
        check(H5Aread(attribute, H5T_NATIVE_INT64, &value), attribute, "read an attribute");
        return value;
    }
    if (kind == TypeClass::Float || kind == TypeClass::BF16 || kind == TypeClass::F16) {
        double value = 0;
        check(H5Aread(attribute, H5T_NATIVE_DOUBLE, &value), attribute, "read an attribute");
        return value;
    }
    return std::nullopt;
}

std::optional<Attribute> readNamed(hid_t object, const std::string& name) {
    if (H5Aexists(object, name.c_str()) <= 0) {
        return std::nullopt;
    }
    const Handle attribute =
        own(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose, object, "open an attribute");
    return readValue(attribute.get());
}

herr_t collectName(hid_t, const char* name, const H5A_info_t*, void* names) {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
}

} // namespace

void writeText(hid_t object, const std::string& name, const std::string& value) {
    const Handle type = textType();
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Handle attribute = createAttribute(object, name, type.get(), space.get());
    const char* pointer = value.c_str();
    check(H5Awrite(attribute.get(), type.get(), &pointer), object, "write an attribute");
}

void writeInteger(hid_t object, const std::string& name, std::int64_t value) {
    writeScalar(object, name, H5T_STD_I64LE, value);
}

void writeNumber(hid_t object, const std::string& name, double value) {
    writeScalar(object, name, H5T_IEEE_F64LE, value);
}

void writeTexts(hid_t object, const std::string& name, const std::vector<std::string>& values) {
    const Handle type = textType();
    const hsize_t count = values.size();
    const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
    const Handle attribute = createAttribute(object, name, type.get(), space.get());
    std::vector<const char*> pointers;
    for (const auto& value : values) {
        pointers.push_back(value.c_str());
    }
    check(H5Awrite(attribute.get(), type.get(), static_cast<const void*>(pointers.data())), object,
          "write an attribute");
}

void writeFixedText(hid_t object, const std::string& name, const std::string& value) {
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), value.size() + 1);
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Handle attribute = createAttribute(object, name, type.get(), space.get());
    check(H5Awrite(attribute.get(), type.get(), value.c_str()), object, "write an attribute");
}

void writeAttributes(hid_t group, const Attributes& attributes) {
    for (const auto& [name, value] : attributes) {
        if (const auto* integer = std::get_if<std::int64_t>(&value)) {
            writeInteger(group, name, *integer);
        } else if (const auto* number = std::get_if<double>(&value)) {
            writeNumber(group, name, *number);
        } else if (const auto& text = std::get<std::string>(value);
                   text.size() <= kLongestAttribute) {
            writeText(group, name, text);
        } else {
            const Handle dataset = writeTextDataset(group, name, text);
            writeInteger(dataset.get(), kLongTextMark, 1);
        }
    }
}

Attributes readAttributes(hid_t object) {
    std::vector<std::string> names;
    check(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, collectName, &names), object,
          "list the attributes");
    Attributes attributes;
    for (const auto& name : names) {
        if (auto value = readNamed(object, name)) {
            attributes.emplace(name, std::move(*value));
        }
    }
    return attributes;
}

std::optional<std::string> readText(hid_t object, const std::string& name) {
    const auto value = readNamed(object, name);
    if (!value || !std::holds_alternative<std::string>(*value)) {
        return std::nullopt;
    }
    return std::get<std::string>(*value);
}

std::optional<std::int64_t> readInteger(hid_t object, const std::string& name) {
    const auto value = readNamed(object, name);
    if (!value || !std::holds_alternative<std::int64_t>(*value)) {
        return std::nullopt;
    }
    return std::get<std::int64_t>(*value);
}

void readLongTexts(hid_t group, Attributes& attributes) {
    for (const auto& name : linkNames(group)) {
        if (!isDataset(group, name)) {
            continue;
        }
        const Handle dataset = openDataset(group, name);
        if (readInteger(dataset.get(), kLongTextMark)) {
            attributes.emplace(name, readTextDataset(dataset.get()).front());
        }
    }
}

} // namespace ecokv::trace
