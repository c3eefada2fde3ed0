// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/vision/pixel_shuffle.h"

namespace ecokv::model {

at::Tensor pixelShuffled(const at::Tensor& features, std::int64_t side, std::int64_t factor) {
    const std::int64_t few = side / factor;
    return features.view({few, factor, few, factor, -1})
        .transpose(1, 2)
        .reshape({few * few, factor * factor * features.size(1)});
}

} // namespace ecokv::model
