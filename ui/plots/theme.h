#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Colours, fonts and spacing of every plot, light and dark. Lengths and font sizes are logical
// pixels (96 per inch on paper). Values only: safe from any thread.

#include <QColor>
#include <QFont>
#include <QPalette>

namespace ecokv::ui {

enum class TextRole { Title, Label, Tick, Value, Footer, Mono };

struct Theme {
    bool dark = false;
    QColor background, panel, text, mutedText, axis, grid;
    QColor accent;       ///< selection frame, hovered things
    QColor kept;         ///< filled marks of survivors
    QColor evicted;      ///< hollow marks of evicted tokens
    QColor evictedVeil;  ///< laid over evicted patches, translucent
    QColor evictedHatch; ///< hatch lines over the veil
    QColor notMeasured;  ///< cells without a value (NaN): never a colour of a colour map
    QColor notMeasuredHatch;
    QColor bar; ///< summary bars and histograms

    static Theme light();
    static Theme night();
    /// The one that fits a widget's palette.
    static Theme forPalette(const QPalette& palette);

    QFont font(TextRole role) const;
    /// A palette for the whole application that fits these colours.
    QPalette applicationPalette() const;
};

/// Spacing in logical pixels.
inline constexpr double kSpace = 8.0;
inline constexpr double kHatchStep = 6.0;

} // namespace ecokv::ui
