#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// One .safetensors file, mapped. The header is checked completely before any tensor is handed out:
// lengths, offsets, shapes and dtypes of a hostile or damaged file end in Error{BadInput}.

#include "base/tensor_view.h"
#include "model/weights/mapped_file.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ecokv::model {

struct StoredTensor {
    std::string name;
    std::string dtypeName; ///< as written in the file: "BF16", "F8_E4M3", ...
    std::vector<std::int64_t> shape;
    std::span<const std::byte> bytes; ///< row-major data inside the mapping
    std::string file;                 ///< path of the file it lies in, for messages

    std::int64_t numel() const;
    /// The dtype we compute with, or nothing for a known dtype without a counterpart (F64, F8...).
    std::optional<DType> dtype() const;
    /// Read-only view, whatever TensorView's void* allows; as aligned as the file's header leaves
    /// it, so copy bytes rather than read through typed pointers. Throws Error{BadInput} naming
    /// tensor and dtype if there is no counterpart or the rank exceeds 4.
    TensorView view() const;
    /// "BF16 [128, 96]"
    std::string describe() const;
};

class SafetensorsFile {
public:
    static SafetensorsFile open(const std::filesystem::path& path);

    const std::vector<StoredTensor>& tensors() const { return m_tensors; } ///< by offset
    std::span<const std::byte> header() const { return m_header; }         ///< the JSON text
    const std::filesystem::path& path() const { return m_file->path(); }
    std::int64_t fileBytes() const { return static_cast<std::int64_t>(m_file->bytes().size()); }

private:
    explicit SafetensorsFile(std::shared_ptr<const MappedFile> file) : m_file(std::move(file)) {}

    std::shared_ptr<const MappedFile> m_file;
    std::span<const std::byte> m_header;
    std::vector<StoredTensor> m_tensors;
};

} // namespace ecokv::model
