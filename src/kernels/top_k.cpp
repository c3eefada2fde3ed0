// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/top_k.h"

#include "kernels/backends.h"

#include <limits>

namespace ecokv::kernels {

Status topK(const float* scores, std::int64_t count, std::int64_t k, std::int32_t* kept,
            Backend backend) {
    const bool sizes = k >= 0 && k <= count && count <= std::numeric_limits<std::int32_t>::max();
    if (!sizes || (k > 0 && (!scores || !kept))) {
        return Status::BadShape;
    }
    switch (backend) {
    case Backend::Reference:
        return reference::topK(scores, count, k, kept);
    case Backend::Cpu:
        return cpu::topK(scores, count, k, kept);
    case Backend::Cuda:
        return cuda::topK(scores, count, k, kept);
    }
    return Status::BadShape;
}

} // namespace ecokv::kernels
