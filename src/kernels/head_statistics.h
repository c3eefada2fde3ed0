#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: from the sums over one head to its statistics, the closed forms of ecokv-1 ("Redundancy
// of a head") in fp64. Shared by all backends.

#include "kernels/key_statistics.h"

#include <cmath>
#include <limits>

namespace ecokv::kernels {

struct HeadSums {
    std::int64_t tokens = 0;     ///< M
    std::int64_t nonZero = 0;    ///< keys whose norm is not zero
    double norms = 0;            ///< sum |k|
    double squaredNorms = 0;     ///< sum |k|^2
    double centroidSquared = 0;  ///< |kbar|^2
    double directionSquared = 0; ///< |mu|^2
};

inline HeadStatistics finish(const HeadSums& sums) {
    HeadStatistics result;
    if (sums.tokens == 0) {
        return result;
    }
    const auto count = static_cast<double>(sums.tokens);
    result.anisotropy = std::sqrt(sums.directionSquared);
    result.meanKeyNorm = sums.norms / count;
    result.meanSquaredNorm = sums.squaredNorms / count;
    result.zeroFreeShare = static_cast<double>(sums.nonZero) / count;
    if (sums.tokens < 2) {
        return result;
    }
    result.redundancyCosine = (count * sums.directionSquared - result.zeroFreeShare) / (count - 1);
    if (result.meanSquaredNorm > 0) {
        result.redundancyEuclid =
            (count * sums.centroidSquared / result.meanSquaredNorm - 1) / (count - 1);
    }
    return result;
}

/// A length as float32: the largest finite number where it would overflow.
inline float saturated(double length) {
    constexpr double kLargest = std::numeric_limits<float>::max();
    return static_cast<float>(length < kLargest ? length : kLargest);
}

} // namespace ecokv::kernels
