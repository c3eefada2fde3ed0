// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/weights/safetensors.h"

#include "base/error.h"
#include "model/json_file.h"
#include "model/weights/foreign_files.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ecokv::model {

namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000; // the cap of the reference reader
constexpr std::size_t kLengthBytes = 8;

struct DTypeRow {
    std::string_view name;
    std::uint64_t bits;
    std::optional<DType> ours;
};

/// Every dtype of the format; those without `ours` are known, but nothing here computes with them.
constexpr std::array kDTypes{
    DTypeRow{"F32", 32, DType::F32},          DTypeRow{"BF16", 16, DType::BF16},
    DTypeRow{"F16", 16, DType::F16},          DTypeRow{"I64", 64, DType::I64},
    DTypeRow{"I32", 32, DType::I32},          DTypeRow{"U8", 8, DType::U8},
    DTypeRow{"F64", 64, std::nullopt},        DTypeRow{"C64", 64, std::nullopt},
    DTypeRow{"U64", 64, std::nullopt},        DTypeRow{"U32", 32, std::nullopt},
    DTypeRow{"I16", 16, std::nullopt},        DTypeRow{"U16", 16, std::nullopt},
    DTypeRow{"I8", 8, std::nullopt},          DTypeRow{"BOOL", 8, std::nullopt},
    DTypeRow{"F8_E4M3", 8, std::nullopt},     DTypeRow{"F8_E5M2", 8, std::nullopt},
    DTypeRow{"F8_E8M0", 8, std::nullopt},     DTypeRow{"F8_E4M3FNUZ", 8, std::nullopt},
    DTypeRow{"F8_E5M2FNUZ", 8, std::nullopt}, DTypeRow{"F6_E2M3", 6, std::nullopt},
    DTypeRow{"F6_E3M2", 6, std::nullopt},     DTypeRow{"F4", 4, std::nullopt},
};

const DTypeRow* findDType(std::string_view name) {
    const auto* row = std::ranges::find(kDTypes, name, &DTypeRow::name);
    return row == kDTypes.end() ? nullptr : row;
}

std::uint64_t readLength(std::span<const std::byte> bytes) {
    std::uint64_t length = 0;
    for (std::size_t i = kLengthBytes; i-- > 0;) {
        length = length << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    }
    return length;
}

std::string_view asText(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Files that are often saved under this name by mistake (field case F075).
void refuseImpostors(std::string_view text, const std::string& path) {
    if (const auto foreign = foreignContent(text)) {
        throwBadInput(
            fmt::format("{} ({} bytes) is {}, not the weights.", path, text.size(), foreign->what),
            foreign->advice);
    }
}

std::uint64_t checkedHeaderLength(std::span<const std::byte> bytes, const std::string& path) {
    refuseImpostors(asText(bytes), path);
    if (bytes.size() < kLengthBytes) {
        throwBadInput(fmt::format("{} is only {} bytes long; a safetensors file begins with 8 "
                                  "bytes of header length.",
                                  path, bytes.size()),
                      "Download the file again.");
    }
    const std::uint64_t length = readLength(bytes);
    const std::uint64_t available = bytes.size() - kLengthBytes;
    if (length > available || length > kMaxHeaderBytes) {
        throwBadInput(fmt::format("{} is damaged or not a safetensors file: its header claims {} "
                                  "bytes, but {} follow and the limit is {}.",
                                  path, length, available, kMaxHeaderBytes),
                      "Download the file again.");
    }
    return length;
}

/// Reads one entry of the header; `data` is everything behind the header.
class EntryReader {
public:
    EntryReader(std::string path, std::span<const std::byte> data)
        : m_path(std::move(path)), m_data(data) {}

    StoredTensor read(const std::string& name, const Json& entry) const {
        const JsonObject object(entry, m_path, name);
        StoredTensor tensor;
        tensor.name = name;
        tensor.file = m_path;
        tensor.dtypeName = object.string("dtype", "");
        const DTypeRow* dtype = findDType(tensor.dtypeName);
        if (dtype == nullptr) {
            refuse(name, fmt::format("has the unknown dtype \"{}\"", tensor.dtypeName));
        }
        tensor.shape = shape(name, object);
        const auto [begin, end] = offsets(name, object);
        const std::uint64_t bits = bitCount(tensor, dtype->bits);
        if (bits % 8 != 0 || bits / 8 != end - begin) {
            refuse(name, fmt::format("is {} and needs {} bytes, but its offsets span {}",
                                     tensor.describe(), (bits + 7) / 8, end - begin));
        }
        tensor.bytes = m_data.subspan(begin, end - begin);
        return tensor;
    }

private:
    [[noreturn]] void refuse(const std::string& name, const std::string& reason) const {
        throwBadInput(fmt::format("{}: tensor \"{}\" {}.", m_path, name, reason),
                      "The file is damaged or written by a newer format; download it again.");
    }

    std::vector<std::int64_t> shape(const std::string& name, const JsonObject& object) const {
        const Json* list = object.find("shape");
        if (list == nullptr || !list->is_array()) {
            refuse(name, "has no shape");
        }
        std::vector<std::int64_t> shape;
        for (const Json& dimension : *list) {
            if (!dimension.is_number_unsigned() || dimension.get<std::uint64_t>() > INT64_MAX) {
                refuse(name, fmt::format("has the impossible shape {}", list->dump()));
            }
            shape.push_back(dimension.get<std::int64_t>());
        }
        return shape;
    }

    std::pair<std::uint64_t, std::uint64_t> offsets(const std::string& name,
                                                    const JsonObject& object) const {
        const Json* list = object.find("data_offsets");
        if (list == nullptr || !list->is_array() || list->size() != 2 ||
            !(*list)[0].is_number_unsigned() || !(*list)[1].is_number_unsigned()) {
            refuse(name, "has no usable data_offsets");
        }
        const auto begin = (*list)[0].get<std::uint64_t>();
        const auto end = (*list)[1].get<std::uint64_t>();
        if (begin > end) {
            refuse(name, fmt::format("begins at byte {} behind its end at byte {}", begin, end));
        }
        if (end > m_data.size()) {
            throwBadInput(fmt::format("{} is cut short: tensor \"{}\" ends at byte {} of the data, "
                                      "but only {} bytes are there.",
                                      m_path, name, end, m_data.size()),
                          "Download the file again.");
        }
        return {begin, end};
    }

    std::uint64_t bitCount(const StoredTensor& tensor, std::uint64_t bits) const {
        std::uint64_t total = bits;
        for (const std::int64_t dimension : tensor.shape) {
            const auto factor = static_cast<std::uint64_t>(dimension);
            if (factor != 0 && total > std::numeric_limits<std::uint64_t>::max() / factor) {
                refuse(tensor.name,
                       fmt::format("has the impossible shape [{}]", fmt::join(tensor.shape, ", ")));
            }
            total *= factor;
        }
        return total;
    }

    std::string m_path;
    std::span<const std::byte> m_data;
};

/// The data must be tiled exactly: no holes, no overlaps, nothing behind (field case F076).
void checkLayout(const std::vector<StoredTensor>& tensors, std::span<const std::byte> data,
                 const std::string& path) {
    const std::byte* expected = data.data();
    const auto at = [&](const std::byte* p) { return p - data.data(); };
    for (const StoredTensor& tensor : tensors) {
        if (tensor.bytes.data() != expected) {
            throwBadInput(
                fmt::format("{}: tensor \"{}\" begins at byte {} of the data, but the tensor "
                            "before it ends at byte {}.",
                            path, tensor.name, at(tensor.bytes.data()), at(expected)),
                "Overlaps and holes are not allowed: the file is damaged; download it again.");
        }
        expected += tensor.bytes.size();
    }
    if (expected != data.data() + data.size()) {
        const auto header = data.data();
        throwBadInput(fmt::format("{} holds {} bytes of data, but its tensors end at byte {}.",
                                  path, data.size(), expected - header),
                      "Extra bytes at the end mean a damaged download; get the file again.");
    }
}

} // namespace

std::int64_t StoredTensor::numel() const {
    std::int64_t count = 1;
    for (const std::int64_t dimension : shape) {
        count *= dimension;
    }
    return count;
}

std::optional<DType> StoredTensor::dtype() const {
    const DTypeRow* row = findDType(dtypeName);
    return row == nullptr ? std::nullopt : row->ours;
}

TensorView StoredTensor::view() const {
    const auto ours = dtype();
    if (!ours) {
        throwBadInput(fmt::format("{}: tensor \"{}\" is stored as {}, which is not supported.",
                                  file, name, dtypeName),
                      "Values can be looked at in F32, BF16, F16, I64, I32 and U8.");
    }
    if (shape.size() > TensorView::kMaxRank) {
        throwBadInput(fmt::format("{}: tensor \"{}\" has {} dimensions; at most {} are supported.",
                                  file, name, shape.size(), TensorView::kMaxRank),
                      "No model read here has such tensors; download the file again.");
    }
    TensorView view;
    view.data = const_cast<std::byte*>(bytes.data());
    view.dtype = *ours;
    view.rank = shape.size();
    std::int64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
        view.shape[i] = shape[i];
        view.strides[i] = stride;
        stride *= shape[i];
    }
    return view;
}

std::string StoredTensor::describe() const {
    return fmt::format("{} [{}]", dtypeName, fmt::join(shape, ", "));
}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
    SafetensorsFile file(MappedFile::open(path));
    const auto bytes = file.m_file->bytes();
    const std::uint64_t length = checkedHeaderLength(bytes, path.string());
    file.m_header = bytes.subspan(kLengthBytes, length);
    const auto data = bytes.subspan(kLengthBytes + length);

    const Json header = parseJson(asText(file.m_header), path.string() + " (header)");
    if (!header.is_object()) {
        throwBadInput(fmt::format("The header of {} is not a JSON object.", path.string()),
                      "Download the file again.");
    }
    const EntryReader reader(path.string(), data);
    for (const auto& [name, entry] : header.items()) {
        if (name != "__metadata__") {
            file.m_tensors.push_back(reader.read(name, entry));
        }
    }
    std::ranges::sort(file.m_tensors, [](const StoredTensor& a, const StoredTensor& b) {
        return std::pair(a.bytes.data(), a.bytes.size()) <
               std::pair(b.bytes.data(), b.bytes.size());
    });
    checkLayout(file.m_tensors, data, path.string());
    return file;
}

} // namespace ecokv::model
