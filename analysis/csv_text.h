#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Cells of CSV text: quoting as in RFC 4180, numbers with a point in every locale (field cases
// F155, F156), always valid UTF-8.

#include <string>

namespace ecokv::analysis {

/// Quoted if it holds a comma, a quote or a line break; bytes that are not UTF-8 become U+FFFD.
std::string csvCell(const std::string& text);
/// The shortest digits that read back as the same value; an empty cell for NaN.
std::string csvCell(float value);
/// On one line, for comments.
std::string csvComment(const std::string& text);

} // namespace ecokv::analysis
