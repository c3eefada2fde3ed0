// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ecokv::cli {

namespace {

bool continues(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

} // namespace

std::string numberCell(double value, int digits) {
    return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : std::string("-");
}

std::size_t characters(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char byte) { return !continues(byte); }));
}

std::string quoted(const std::string& text, std::size_t most) {
    std::string line;
    std::size_t count = 0;
    for (const char byte : text) {
        if (!continues(byte) && ++count > most) {
            line += "…";
            break;
        }
        if (byte == '\n') {
            line += "\\n";
        } else if (byte == '"') {
            line += "\\\"";
        } else if (static_cast<unsigned char>(byte) < 0x20) {
            line += fmt::format("\\x{:02x}", byte);
        } else {
            line += byte;
        }
    }
    return "\"" + line + "\"";
}

std::string TextTable::text() const {
    std::vector<std::size_t> widths;
    for (const auto& row : m_rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], characters(row[i]));
        }
    }
    std::string text;
    for (const auto& row : m_rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string padding(widths[i] - characters(row[i]), ' ');
            const bool right = i >= m_firstRight && i + 1 < widths.size();
            line += i > 0 ? "  " : "";
            line += right ? padding + row[i] : row[i] + padding;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    return text;
}

} // namespace ecokv::cli
