// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/backends.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace ecokv::kernels::reference {

Status topK(const float* scores, std::int64_t count, std::int64_t k, std::int32_t* kept) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [scores](std::int32_t a, std::int32_t b) {
        const bool numbers = !std::isnan(scores[a]) && !std::isnan(scores[b]);
        return numbers ? scores[a] > scores[b] : !std::isnan(scores[a]) && std::isnan(scores[b]);
    });
    std::copy_n(order.begin(), k, kept);
    std::sort(kept, kept + k);
    return Status::Ok;
}

} // namespace ecokv::kernels::reference
