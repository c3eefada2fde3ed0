#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A view of memory somebody else owns: pointer, dtype, shape, strides (in elements), device.
// It never allocates and never frees; the owner must outlive it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace ecokv {

enum class DType : std::uint8_t { F32, BF16, F16, I64, I32, U8 };

std::size_t dtypeSize(DType dtype);
/// "float32", "bfloat16", "float16", "int64", "int32", "uint8".
const char* dtypeName(DType dtype);

enum class DeviceKind : std::uint8_t { Cpu, Cuda };

struct Device {
    DeviceKind kind = DeviceKind::Cpu;
    int index = 0;

    bool operator==(const Device&) const = default;
};

/// Up to four dimensions; shapes are written [layer, kvHead, token, dim] in docs.
struct TensorView {
    static constexpr std::size_t kMaxRank = 4;

    void* data = nullptr;
    DType dtype = DType::F32;
    Device device;
    std::size_t rank = 0;
    std::array<std::int64_t, kMaxRank> shape{};
    std::array<std::int64_t, kMaxRank> strides{}; ///< in elements, not bytes

    /// A row-major view.
    static TensorView contiguous(void* data, DType dtype, std::initializer_list<std::int64_t> shape,
                                 Device device = {});

    std::int64_t numel() const;
    bool isContiguous() const;
    /// View of entry `index` of the first dimension (rank - 1).
    TensorView operator[](std::int64_t index) const;
    /// View of entries [begin, end) of dimension `dim` (same rank).
    TensorView slice(std::size_t dim, std::int64_t begin, std::int64_t end) const;
    /// "bfloat16 [4, 269, 32] on cpu".
    std::string describe() const;

    template <class T> T* as() const { return static_cast<T*>(data); }
};

} // namespace ecokv
