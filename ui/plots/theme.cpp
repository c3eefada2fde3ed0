// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/theme.h"

#include <QFontInfo>

namespace ecokv::ui {
namespace {

int pixelSize(TextRole role) {
    switch (role) {
    case TextRole::Title:
        return 16;
    case TextRole::Label:
        return 12;
    case TextRole::Mono:
        return 13;
    case TextRole::Tick:
    case TextRole::Value:
        return 11;
    case TextRole::Footer:
        return 10;
    }
    return 12;
}

} // namespace

// The marks use the blue and orange of Okabe and Ito's palette (2008), told apart with any
// colour-vision deficiency; shape and fill always say the same thing as the hue.
Theme Theme::light() {
    Theme theme;
    theme.background = QColor(0xffffff);
    theme.panel = QColor(0xf4f5f7);
    theme.text = QColor(0x1b1f24);
    theme.mutedText = QColor(0x5b6470);
    theme.axis = QColor(0x8a939f);
    theme.grid = QColor(0xe6e8eb);
    theme.accent = QColor(0xd55e00);
    theme.kept = QColor(0x0072b2);
    theme.evicted = QColor(0x8a939f);
    theme.evictedVeil = QColor(24, 28, 34, 168);
    theme.evictedHatch = QColor(255, 255, 255, 84);
    theme.notMeasured = QColor(0xe3dfe6);
    theme.notMeasuredHatch = QColor(0x9a92a0);
    theme.bar = QColor(0xb9c2cd);
    return theme;
}

Theme Theme::night() {
    Theme theme;
    theme.dark = true;
    theme.background = QColor(0x1a1d21);
    theme.panel = QColor(0x24282e);
    theme.text = QColor(0xe8eaed);
    theme.mutedText = QColor(0xa0a8b3);
    theme.axis = QColor(0x707a87);
    theme.grid = QColor(0x30353c);
    theme.accent = QColor(0xff9a3c);
    theme.kept = QColor(0x56b4e9);
    theme.evicted = QColor(0x7c8693);
    theme.evictedVeil = QColor(10, 12, 15, 184);
    theme.evictedHatch = QColor(255, 255, 255, 72);
    theme.notMeasured = QColor(0x3c3742);
    theme.notMeasuredHatch = QColor(0x837a8c);
    theme.bar = QColor(0x4d5661);
    return theme;
}

Theme Theme::forPalette(const QPalette& palette) {
    return palette.color(QPalette::Window).lightnessF() < 0.5F ? night() : light();
}

QFont Theme::font(TextRole role) const {
    QFont font;
    if (role == TextRole::Mono) {
        font.setFamily(QStringLiteral("monospace"));
        font.setStyleHint(QFont::Monospace);
    }
    // The real name behind "Sans Serif": SVG and PDF readers know no Qt aliases.
    font.setFamily(QFontInfo(font).family());
    font.setPixelSize(pixelSize(role));
    font.setWeight(role == TextRole::Title ? QFont::DemiBold : QFont::Normal);
    return font;
}

QPalette Theme::applicationPalette() const {
    QPalette palette;
    const QColor base = dark ? QColor(0x14171a) : QColor(0xffffff);
    palette.setColor(QPalette::Window, dark ? panel : QColor(0xf4f5f7));
    palette.setColor(QPalette::WindowText, text);
    palette.setColor(QPalette::Base, base);
    palette.setColor(QPalette::AlternateBase, panel);
    palette.setColor(QPalette::Text, text);
    palette.setColor(QPalette::PlaceholderText, mutedText);
    palette.setColor(QPalette::Button, dark ? QColor(0x2d3239) : QColor(0xe9ebee));
    palette.setColor(QPalette::ButtonText, text);
    palette.setColor(QPalette::ToolTipBase, dark ? QColor(0x32373f) : QColor(0xffffff));
    palette.setColor(QPalette::ToolTipText, text);
    palette.setColor(QPalette::Highlight, kept);
    palette.setColor(QPalette::HighlightedText, dark ? QColor(0x101214) : QColor(0xffffff));
    palette.setColor(QPalette::Link, kept);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
        palette.setColor(QPalette::Disabled, role, axis);
    }
    return palette;
}

} // namespace ecokv::ui
