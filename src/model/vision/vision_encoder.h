#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// From the pixels of one picture to rows of the decoder: tower, merger and projector of a family.

#include "model/aten.h"
#include "model/prompt.h"

#include <functional>
#include <vector>

namespace ecokv::model {

/// Rows in the order of the picture's image tokens, compute dtype and device.
struct VisionFeatures {
    at::Tensor rows; ///< [imageToken, hidden]
    /// Qwen3-VL (deepstack): what is added to the image tokens after each of the first decoder
    /// layers, [imageToken, hidden] each; empty elsewhere.
    std::vector<at::Tensor> deepstack;
};

class VisionEncoder {
public:
    virtual ~VisionEncoder() = default;
    /// Calls of `afterLayer` that encode() will make for this picture.
    virtual std::int64_t steps(const PictureInput& picture) const = 0;
    /// Bytes that encode() holds at once at its peak, computing in values of `valueBytes`: what
    /// layers pass on and what comes out. Weights, the pixels and the blocks of a matrix product
    /// are not counted. Needs no weights.
    virtual std::int64_t workingBytes(const PictureInput& picture,
                                      std::int64_t valueBytes) const = 0;
    /// `pixels` are the values of `picture` on the compute device in the compute dtype, shaped as
    /// `picture.shape`. `afterLayer` may throw (cancellation). Throws Error{BadInput} when the
    /// shape does not fit the tower.
    virtual VisionFeatures encode(const at::Tensor& pixels, const PictureInput& picture,
                                  const std::function<void()>& afterLayer) const = 0;
};

} // namespace ecokv::model
