#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers and token texts as the desktop writes them: with units, a point as decimal separator, and
// NaN as a dash. Pure functions.

#include <QString>

#include <cstdint>
#include <string>

namespace ecokv::ui {

/// Four significant digits, "–" for NaN.
QString formatNumber(double value);
/// "1.5 KB", "3.7 MB": decimal units with one decimal, as the CLI writes them; exact below 1 KB.
QString formatBytes(std::uint64_t bytes);
/// 0.173 -> "17 %"; "–" for NaN.
QString formatShare(double share);
/// "3.2 ms", "0.41 s", "12 s", "3 min 05 s".
QString formatSeconds(double seconds);
/// 1900000 -> "1.9 M".
QString formatCount(std::int64_t count);
/// A token as shown in a table: white space made visible, bytes that are no UTF-8 as \xNN.
QString formatToken(const std::string& bytes);
/// 0 text, 1 special, 2 image: the word for it.
QString tokenKindName(std::uint8_t kind);
/// The same with what an image token stands for: "image", "image, row end", "image, thumbnail".
QString tokenKindName(std::uint8_t kind, std::uint8_t patchRole);

} // namespace ecokv::ui
