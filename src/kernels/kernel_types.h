#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What every kernel launcher shares: status, backend, stream, rotation. Kernels take raw pointers,
// sizes and strides; launchers return a Status that the caller checks once. Rows of tensors have
// unit stride in dim. Inputs that are not finite never make a result NaN: each header says what is
// done.

#include "base/tensor_view.h"

#include <array>
#include <cstdint>

namespace ecokv::kernels {

enum class Status : std::uint8_t {
    Ok,
    BadShape,         ///< shapes of the operands do not fit together
    UnsupportedDType, ///< dtype outside float32, bfloat16, float16
    DeviceMismatch,   ///< an operand lives on another device than the backend runs on
    CudaNotBuilt,     ///< this build has no CUDA kernels
    CudaFailed,       ///< the driver or a launch failed; see lastCudaError()
};

const char* statusText(Status status);

/// Which implementation runs. `Reference` is scalar and obvious, `Cpu` vectorised and threaded.
enum class Backend : std::uint8_t { Reference, Cpu, Cuda };

/// cudaStream_t for Backend::Cuda, ignored elsewhere.
using Stream = void*;

enum class RopeStyle : std::uint8_t {
    Half,        ///< pairs (i, i + pairs), as Llama in transformers
    Interleaved, ///< pairs (2i, 2i + 1)
};

/// How keys were rotated, so that a kernel can undo it while reading (geometry = pre).
struct Rotation {
    RopeStyle style = RopeStyle::Half;
    const float* inverseFrequencies = nullptr; ///< [pair] f32, radians per position, host
    const std::int64_t* positions = nullptr;   ///< [token] i64, true positions, host
    float attentionScaling = 1.0F;             ///< factor applied to rotated dims (yarn); 1 = none
    std::int64_t pairs = 0; ///< the first 2 * pairs dims are rotated, the others not; 0 = all are
    const std::uint8_t* axes = nullptr; ///< [pair] u8 which of three positions, null = all 0, host
    /// [token] i32 time, row, column (M-RoPE), host; null: `positions` is what every pair turns by.
    const std::array<std::int32_t, 3>* axisPositions = nullptr;

    /// Of keys that were not rotated, at `positions` [token].
    static Rotation none(const std::int64_t* positions) {
        static constexpr float kStill = 0.0F;
        Rotation rotation{RopeStyle::Half, &kStill, positions, 1.0F};
        rotation.pairs = 1;
        return rotation;
    }
    std::int64_t pairsOf(std::int64_t dim) const { return pairs > 0 ? pairs : dim / 2; }
    /// Some dims carry the scaling, others do not: un-rotated keys have lengths of their own.
    bool scalesPartOf(std::int64_t dim) const {
        return attentionScaling != 1.0F && 2 * pairsOf(dim) < dim;
    }
    /// That of the tokens from `token` on.
    Rotation from(std::int64_t token) const {
        Rotation rest = *this;
        rest.positions += positions != nullptr ? token : 0;
        rest.axisPositions += axisPositions != nullptr ? token : 0;
        return rest;
    }
};

} // namespace ecokv::kernels
