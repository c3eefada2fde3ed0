// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/json_scanner.h"

#include "model/text/utf8.h"

#include <charconv>

namespace ecokv::model {

char JsonScanner::peek() {
    while (m_at < m_text.size() && (m_text[m_at] == ' ' || m_text[m_at] == '\n' ||
                                    m_text[m_at] == '\t' || m_text[m_at] == '\r')) {
        ++m_at;
    }
    return m_at < m_text.size() ? m_text[m_at] : '\0';
}

void JsonScanner::expect(char c) {
    if (peek() != c) {
        fail();
    }
    ++m_at;
}

void JsonScanner::open(char bracket) {
    expect(bracket);
    m_first = true;
}

bool JsonScanner::nextElement(char closing) {
    if (peek() == closing) {
        ++m_at;
        m_first = false;
        return false;
    }
    if (!m_first) {
        expect(',');
    }
    m_first = false;
    return true;
}

std::string_view JsonScanner::key() {
    const std::string_view text = string();
    expect(':');
    return text;
}

std::string_view JsonScanner::string() {
    peek();
    const std::size_t begin = m_at + 1;
    bool escaped = false;
    if (m_at >= m_text.size() || m_text[m_at] != '"') {
        fail();
    }
    for (++m_at; m_at < m_text.size() && m_text[m_at] != '"'; ++m_at) {
        if (static_cast<unsigned char>(m_text[m_at]) < 0x20) {
            fail();
        }
        if (m_text[m_at] == '\\') {
            escaped = true;
            ++m_at;
        }
    }
    if (m_at >= m_text.size()) {
        fail();
    }
    const std::size_t end = m_at++;
    if (!isValidUtf8(m_text.substr(begin, end - begin))) {
        fail();
    }
    return escaped ? unescape(begin, end) : m_text.substr(begin, end - begin);
}

char32_t JsonScanner::hexadecimal(std::size_t at) const {
    unsigned value = 0;
    const char* first = m_text.data() + at;
    if (at + 4 > m_text.size() || std::from_chars(first, first + 4, value, 16).ptr != first + 4) {
        fail();
    }
    return value;
}

std::string_view JsonScanner::unescape(std::size_t begin, std::size_t end) {
    constexpr std::string_view kShort = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    m_unescaped.clear();
    for (std::size_t i = begin; i < end; ++i) {
        if (m_text[i] != '\\') {
            m_unescaped += m_text[i];
            continue;
        }
        const std::size_t known = kShort.find(m_text[++i]);
        if (known != std::string_view::npos) {
            m_unescaped += kMeant[known];
            continue;
        }
        if (m_text[i] != 'u') {
            fail();
        }
        char32_t c = hexadecimal(i + 1);
        i += 4;
        if (c >= 0xd800 && c < 0xdc00 && m_text.substr(i + 1, 2) == "\\u") {
            const char32_t low = hexadecimal(i + 3);
            c = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00) : c;
            i += 6;
        }
        if (c >= 0xd800 && c < 0xe000) {
            fail(); // half of a pair
        }
        appendUtf8(m_unescaped, c);
    }
    return m_unescaped;
}

std::string_view JsonScanner::number() {
    peek();
    const std::size_t begin = m_at;
    constexpr std::string_view kDigits = "+-.0123456789Ee";
    while (m_at < m_text.size() && kDigits.find(m_text[m_at]) != std::string_view::npos) {
        ++m_at;
    }
    if (m_at == begin) {
        fail();
    }
    return m_text.substr(begin, m_at - begin);
}

void JsonScanner::skipString() {
    for (++m_at; m_at < m_text.size() && m_text[m_at] != '"'; ++m_at) {
        m_at += m_text[m_at] == '\\' ? 1 : 0;
    }
    if (m_at >= m_text.size()) {
        fail();
    }
    ++m_at;
}

std::string_view JsonScanner::value() {
    const char first = peek();
    const std::size_t begin = m_at;
    if (first == '"') {
        skipString();
    } else if (first == '{' || first == '[') {
        std::size_t depth = 0;
        do {
            const char c = m_at < m_text.size() ? m_text[m_at] : '\0';
            if (c == '\0' && m_at >= m_text.size()) {
                fail();
            }
            if (c == '"') {
                skipString();
                continue;
            }
            depth += c == '{' || c == '[' ? 1 : 0;
            depth -= c == '}' || c == ']' ? 1 : 0;
            ++m_at;
        } while (depth > 0);
    } else {
        constexpr std::string_view kEnds = ",]} \n\t\r";
        while (m_at < m_text.size() && kEnds.find(m_text[m_at]) == std::string_view::npos) {
            ++m_at;
        }
    }
    if (m_at == begin) {
        fail();
    }
    return m_text.substr(begin, m_at - begin);
}

} // namespace ecokv::model
