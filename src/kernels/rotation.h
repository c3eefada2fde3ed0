#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: undoing a rotary embedding, R(-p) k / attentionScaling (geometry = pre of ecokv-1). The
// angle is the float32 product position * frequency, as models compute it when they rotate.

#include "kernels/kernel_types.h"

#include <cmath>

namespace ecokv::kernels {

/// The position by which `pair` of a token turns, as float32.
inline float positionOf(const Rotation& rotation, std::int64_t token, std::int64_t pair) {
    if (rotation.axisPositions == nullptr) {
        return static_cast<float>(rotation.positions[token]);
    }
    const std::size_t axis = rotation.axes != nullptr ? rotation.axes[pair] : 0;
    return static_cast<float>(rotation.axisPositions[token][axis]);
}

/// Cosines and sines of one token, [pair] each, divided by the attention scaling.
template <class Real>
void rotationRow(const Rotation& rotation, std::int64_t token, std::int64_t pairs, Real* cosines,
                 Real* sines) {
    const double scaling = rotation.attentionScaling;
    for (std::int64_t i = 0; i < pairs; ++i) {
        const double angle =
            static_cast<double>(positionOf(rotation, token, i) * rotation.inverseFrequencies[i]);
        cosines[i] = static_cast<Real>(std::cos(angle) / scaling);
        sines[i] = static_cast<Real>(std::sin(angle) / scaling);
    }
}

/// Rotates the first 2 * pairs numbers of `row` backwards in place.
template <class Real>
void unrotateRow(RopeStyle style, std::int64_t pairs, const Real* cosines, const Real* sines,
                 Real* row) {
    if (style == RopeStyle::Half) {
        for (std::int64_t i = 0; i < pairs; ++i) {
            const Real first = row[i];
            const Real second = row[i + pairs];
            row[i] = first * cosines[i] + second * sines[i];
            row[i + pairs] = second * cosines[i] - first * sines[i];
        }
        return;
    }
    for (std::int64_t i = 0; i < pairs; ++i) {
        const Real first = row[2 * i];
        const Real second = row[2 * i + 1];
        row[2 * i] = first * cosines[i] + second * sines[i];
        row[2 * i + 1] = second * cosines[i] - first * sines[i];
    }
}

} // namespace ecokv::kernels
