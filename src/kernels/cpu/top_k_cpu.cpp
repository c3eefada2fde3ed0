// SPDX-License-Identifier: GPL-3.0-or-later
// Radix selection: the k-th largest score by histograms of its bits, then one sweep that collects
// everything above it and the first ties. Ascending by construction, no sorting.
#include "kernels/backends.h"
#include "kernels/cpu/row_source.h"
#include "kernels/cpu/score_bits.h"

#include <algorithm>
#include <array>

namespace ecokv::kernels::cpu {

namespace {

constexpr int kDigitBits = 11; ///< 11 + 11 + 10 = 32
constexpr std::uint32_t kDigits = 1U << kDigitBits;

/// The digit that holds the `rank`-th largest (0 = the largest) of a histogram; `rank` becomes the
/// rank within that digit.
std::uint32_t digitOfRank(const std::array<std::uint32_t, kDigits>& histogram,
                          std::uint32_t& rank) {
    std::uint32_t digit = kDigits - 1;
    while (rank >= histogram[digit]) {
        rank -= histogram[digit];
        --digit;
    }
    return digit;
}

/// The `rank`-th largest of `bits` [count]; `rank` becomes its index among equal ones. Destroys
/// `bits`.
std::uint32_t selectRank(std::uint32_t* bits, std::int64_t count, std::uint32_t& rank) {
    std::uint32_t prefix = 0;
    for (const int shift : {21, 10, 0}) {
        const int width = shift == 0 ? 10 : kDigitBits;
        const std::uint32_t mask = (1U << width) - 1;
        std::array<std::uint32_t, kDigits> histogram{};
        for (std::int64_t i = 0; i < count; ++i) {
            ++histogram[(bits[i] >> shift) & mask];
        }
        const std::uint32_t digit = digitOfRank(histogram, rank);
        prefix |= digit << shift;
        if (shift == 0 || histogram[digit] == static_cast<std::uint32_t>(count)) {
            continue; // nothing to drop
        }
        std::int64_t kept = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            bits[kept] = bits[i];
            kept += ((bits[i] >> shift) & mask) == digit ? 1 : 0;
        }
        count = kept;
    }
    return prefix;
}

} // namespace

Status topK(const float* scores, std::int64_t count, std::int64_t k, std::int32_t* kept) {
    if (k == 0) {
        return Status::Ok;
    }
    DeviceBuffer memory(static_cast<std::size_t>(2 * count) * sizeof(std::uint32_t), {});
    auto* bits = static_cast<std::uint32_t*>(memory.data());
    std::uint32_t* work = bits + count;
    orderedBits(scores, count, bits);
    std::copy_n(bits, count, work);
    auto rank = static_cast<std::uint32_t>(k - 1);
    const std::uint32_t threshold = selectRank(work, count, rank);
    collectFrom(bits, count, threshold, static_cast<std::int64_t>(rank) + 1, kept, k);
    return Status::Ok;
}

} // namespace ecokv::kernels::cpu
