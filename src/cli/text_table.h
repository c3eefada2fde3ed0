#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Text in aligned columns for terminals. Widths count characters (code points), not bytes.

#include <cstddef>
#include <string>
#include <vector>

namespace ecokv::cli {

class TextTable {
public:
    /// Columns from `firstRight` on are right-aligned, but for the last one.
    explicit TextTable(std::size_t firstRight) : m_firstRight(firstRight) {}

    void addRow(std::vector<std::string> cells) { m_rows.push_back(std::move(cells)); }
    /// Rows with two spaces between columns, each ended by a line break; no trailing spaces.
    std::string text() const;

private:
    std::size_t m_firstRight;
    std::vector<std::vector<std::string>> m_rows;
};

/// A number with so many decimals; "-" for what is not finite.
std::string numberCell(double value, int digits = 3);

/// Characters of UTF-8 text.
std::size_t characters(const std::string& text);

/// On one line in quotation marks: control characters escaped, cut to `most` characters.
std::string quoted(const std::string& text, std::size_t most);

} // namespace ecokv::cli
