#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: when a vector counts as constant, so that min-max scaling never stretches rounding
// noise to 0..1 (ecokv-1, "Diversity"; field case F021). Shared by all backends.

#include <cmath>
#include <limits>

namespace ecokv::kernels {

/// Smallest and largest finite value seen.
struct Range {
    float low = std::numeric_limits<float>::infinity();
    float high = -std::numeric_limits<float>::infinity();

    void include(float value) {
        if (std::isfinite(value)) {
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
    }
    bool empty() const { return low > high; }
    double spread() const { return static_cast<double>(high) - static_cast<double>(low); }
};

inline bool cosineIsConstant(const Range& c) {
    return c.empty() || c.spread() <= 1e-6;
}

/// Distances to the centroid: small against the keys, or all equal up to rounding (two keys are
/// always equally far from their mean).
inline bool euclidIsConstant(const Range& e, double meanSquaredNorm) {
    if (e.empty()) {
        return true;
    }
    const double high = e.high;
    return high * high <= 1e-5 * meanSquaredNorm || e.spread() <= 1e-6 * high;
}

inline bool valueNormIsConstant(const Range& v) {
    return v.empty() || v.spread() <= 1e-6 * static_cast<double>(v.high);
}

/// r of the score: 0..1, and 0 (importance alone) where it is not a number.
inline double usableRedundancy(double r) {
    return r > 0 ? (r < 1 ? r : 1.0) : 0.0;
}

} // namespace ecokv::kernels
