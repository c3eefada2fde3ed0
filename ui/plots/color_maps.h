#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Colour maps that stay readable with colour-vision deficiency, and the scale that turns values
// into colours. Values only: safe from any thread.

#include <QColor>

#include <span>

namespace ecokv::ui {

enum class ColorMap {
    Viridis,   ///< sequential: default
    Cividis,   ///< sequential: shares and counts
    Diverging, ///< blue - white - orange: signed quantities around 0
};

/// Colour at t in [0, 1]; outside is clamped.
QColor colorAt(ColorMap map, double t);

/// Range of values a colour bar spans, from the finite values of one data set (field cases F143,
/// F145): never carried over from the data before.
struct ValueRange {
    double low = 0, high = 1;
    bool empty = true; ///< no finite value

    static ValueRange ofFinite(std::span<const float> values);
    /// Widened to lie symmetrically around 0, for the diverging map.
    ValueRange symmetric() const;
    /// Position in [0, 1]; 0.5 when all values are equal.
    double fraction(double value) const;
};

} // namespace ecokv::ui
