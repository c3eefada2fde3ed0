#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Importance of every key: the mean over window rows and grouped query heads of the causal softmax
// attention, in fp32 (SnapKV, arXiv 2404.14469; definition ecokv-1). Thread-safe.

#include "kernels/kernel_types.h"

namespace ecokv::kernels {

struct WindowImportanceInput {
    TensorView queries; ///< [head, window, dim]; head = kvHead * g + member
    TensorView keys;    ///< [kvHead, token, dim]; all visible keys, window included
    const std::int64_t* queryPositions = nullptr; ///< [window] i64, host
    const std::int64_t* keyPositions = nullptr;   ///< [token] i64, host; a row sees keys <= its own
    float scale = 0.0F;                           ///< 0 = 1/sqrt(dim)
};

/// `importance` [kvHead, token] f32, on the device of the backend. Logits are scaled in fp32 (field
/// case F023). A logit that is not finite hides its key from that row; a row that sees no key, and
/// a window of 0 rows, give 0 to every key.
Status windowImportance(const WindowImportanceInput& input, float* importance, Backend backend,
                        Stream stream = nullptr);

} // namespace ecokv::kernels
