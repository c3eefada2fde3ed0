// SPDX-License-Identifier: GPL-3.0-or-later
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/score_bits.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/score_bits.h"

HWY_BEFORE_NAMESPACE();
namespace ecokv::kernels::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void OrderedBits(const float* HWY_RESTRICT scores, int64_t count, uint32_t* HWY_RESTRICT bits) {
    for (int64_t i = 0; i < count; ++i) {     // plain enough for the compiler to vectorise
        const float score = scores[i] + 0.0F; // -0 becomes +0
        uint32_t raw;
        __builtin_memcpy(&raw, &score, sizeof(raw));
        const uint32_t flipped = (raw & 0x80000000U) != 0 ? ~raw : raw | 0x80000000U;
        bits[i] = (raw & 0x7fffffffU) > 0x7f800000U ? 0U : flipped;
    }
}

/// Index of the first entry of a vector's worth that is at least `threshold`, or the end.
HWY_INLINE int64_t SkipBelow(const uint32_t* HWY_RESTRICT bits, int64_t from, int64_t count,
                             uint32_t threshold) {
    const hn::ScalableTag<uint32_t> du;
    const auto lanes = static_cast<int64_t>(hn::Lanes(du));
    const auto limit = hn::Set(du, threshold);
    while (from + lanes <= count) {
        const auto reached = hn::Not(hn::Lt(hn::LoadU(du, bits + from), limit));
        const intptr_t first = hn::FindFirstTrue(du, reached);
        if (first >= 0) {
            return from + static_cast<int64_t>(first);
        }
        from += lanes;
    }
    return from;
}

void CollectFrom(const uint32_t* HWY_RESTRICT bits, int64_t count, uint32_t threshold, int64_t ties,
                 int32_t* HWY_RESTRICT kept, int64_t k) {
    const bool sparse = k < count / 16;
    int64_t found = 0;
    for (int64_t i = 0; found < k; ++i) {
        if (sparse) {
            i = SkipBelow(bits, i, count, threshold);
        }
        const bool tie = bits[i] == threshold && ties > 0;
        ties -= tie ? 1 : 0;
        kept[found] = static_cast<int32_t>(i);
        found += tie || bits[i] > threshold ? 1 : 0;
    }
}

} // namespace HWY_NAMESPACE
} // namespace ecokv::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ecokv::kernels::cpu {

HWY_EXPORT(OrderedBits);
HWY_EXPORT(CollectFrom);

void orderedBits(const float* scores, std::int64_t count, std::uint32_t* bits) {
    HWY_DYNAMIC_DISPATCH(OrderedBits)(scores, count, bits);
}

void collectFrom(const std::uint32_t* bits, std::int64_t count, std::uint32_t threshold,
                 std::int64_t ties, std::int32_t* kept, std::int64_t k) {
    HWY_DYNAMIC_DISPATCH(CollectFrom)(bits, count, threshold, ties, kept, k);
}

} // namespace ecokv::kernels::cpu
#endif // HWY_ONCE
