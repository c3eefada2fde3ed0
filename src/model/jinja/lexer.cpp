// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/lexer.h"

#include "model/jinja/string_literal.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace ecokv::jinja {

namespace {

bool isBlank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r';
}

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

bool isNameStart(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
}

/// \r\n and \r become \n; one newline at the very end is dropped.
std::string normalizeNewlines(const std::string& source) {
    std::string text;
    text.reserve(source.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
        if (source[i] == '\r') {
            text += '\n';
            i += i + 1 < source.size() && source[i + 1] == '\n' ? 1 : 0;
        } else {
            text += source[i];
        }
    }
    if (text.ends_with('\n')) {
        text.pop_back();
    }
    return text;
}

class Lexer {
public:
    explicit Lexer(const std::string& source) : m_source(normalizeNewlines(source)) {}

    std::vector<Token> run() {
        while (m_at < m_source.size()) {
            lexText();
            if (m_at < m_source.size()) {
                lexTag();
            }
        }
        m_tokens.push_back({TokenType::End, "", position(m_at)});
        return std::move(m_tokens);
    }

private:
    char peek(std::size_t ahead = 0) const {
        return m_at + ahead < m_source.size() ? m_source[m_at + ahead] : '\0';
    }

    /// Offsets are asked for in ascending order, so the text is counted once.
    Position position(std::size_t offset) {
        for (; m_counted < offset; ++m_counted) {
            if (m_source[m_counted] == '\n') {
                ++m_position.line;
                m_position.column = 1;
            } else if ((static_cast<unsigned char>(m_source[m_counted]) & 0xc0U) != 0x80U) {
                ++m_position.column;
            }
        }
        return m_position;
    }

    std::size_t nextTag() const {
        for (std::size_t i = m_at; i + 1 < m_source.size(); ++i) {
            if (m_source[i] == '{' &&
                std::string_view("{%#").find(m_source[i + 1]) != std::string_view::npos) {
                return i;
            }
        }
        return m_source.size();
    }

    /// Text up to the next tag, stripped as that tag and the one before it ask for.
    void lexText() {
        const std::size_t begin = m_at;
        const std::size_t end = nextTag();
        std::string text = m_source.substr(begin, end - begin);
        if (end < m_source.size()) {
            const char sign = end + 2 < m_source.size() ? m_source[end + 2] : '\0';
            if (sign == '-') {
                while (!text.empty() && isBlank(text.back())) {
                    text.pop_back();
                }
            } else if (sign != '+' && m_source[end + 1] != '{') {
                stripIndent(text, begin);
            }
        }
        if (m_stripNext) {
            const auto first = std::ranges::find_if_not(text, isBlank);
            text.erase(text.begin(), first);
        }
        m_stripNext = false;
        if (!text.empty()) {
            m_tokens.push_back({TokenType::Text, std::move(text), position(begin)});
        }
        m_at = end;
    }

    /// lstrip_blocks: blanks between the start of the line and a block go.
    void stripIndent(std::string& text, std::size_t begin) const {
        const std::size_t newline = text.rfind('\n');
        const bool lineStart =
            newline != std::string::npos || begin == 0 || m_source[begin - 1] == '\n';
        const std::size_t from = newline == std::string::npos ? 0 : newline + 1;
        if (lineStart &&
            std::all_of(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), isBlank)) {
            text.resize(from);
        }
    }

    void lexTag() {
        const char kind = m_source[m_at + 1];
        if (kind == '#') {
            lexComment();
        } else if (!lexRaw()) {
            lexExpression(kind == '%');
        }
    }

    void lexComment() {
        const std::size_t end = m_source.find("#}", m_at + 2);
        if (end == std::string::npos) {
            throw TemplateError("a comment {# is never closed", position(m_at));
        }
        m_at = end + 2;
        afterBlock(m_source[end - 1]);
    }

    /// What follows a block or comment: `-` strips all, otherwise trim_blocks one newline.
    void afterBlock(char sign) {
        if (sign == '-') {
            m_stripNext = true;
        } else if (sign != '+' && peek() == '\n') {
            ++m_at;
        }
    }

    /// Matches `{%[-+]? word [-+]?%}` at `at`; gives the offset behind it and the last sign.
    bool matchBareBlock(std::size_t at, std::string_view word, std::size_t& end, char& sign) const {
        const auto skipBlanks = [&](std::size_t i) {
            while (i < m_source.size() && isBlank(m_source[i])) {
                ++i;
            }
            return i;
        };
        const std::string_view source = m_source;
        if (!source.substr(at).starts_with("{%")) {
            return false;
        }
        std::size_t i = at + 2;
        i += i < source.size() && (source[i] == '-' || source[i] == '+') ? 1 : 0;
        i = skipBlanks(i);
        if (!source.substr(i).starts_with(word)) {
            return false;
        }
        i = skipBlanks(i + word.size());
        sign = i < source.size() ? source[i] : '\0';
        i += sign == '-' || sign == '+' ? 1 : 0;
        end = i + 2;
        return source.substr(std::min(i, source.size())).starts_with("%}");
    }

    bool lexRaw() {
        std::size_t begin = 0;
        char sign = '\0';
        if (!matchBareBlock(m_at, "raw", begin, sign)) {
            return false;
        }
        const std::size_t opening = m_at;
        m_at = begin;
        const std::size_t bodyBegin = begin;
        for (std::size_t i = begin; (i = m_source.find("{%", i)) != std::string::npos; ++i) {
            std::size_t end = 0;
            char lastSign = '\0';
            if (!matchBareBlock(i, "endraw", end, lastSign)) {
                continue;
            }
            std::string body = m_source.substr(bodyBegin, i - bodyBegin);
            if (sign == '-') {
                body.erase(body.begin(), std::ranges::find_if_not(body, isBlank));
            } else if (sign != '+' && body.starts_with('\n')) {
                body.erase(0, 1);
            }
            if (i + 2 < m_source.size() && m_source[i + 2] == '-') {
                while (!body.empty() && isBlank(body.back())) {
                    body.pop_back();
                }
            } else if (i + 2 < m_source.size() && m_source[i + 2] != '+') {
                stripIndent(body, bodyBegin);
            }
            m_tokens.push_back({TokenType::Text, std::move(body), position(bodyBegin)});
            m_at = end;
            afterBlock(lastSign);
            return true;
        }
        throw TemplateError("{% raw %} is never closed", position(opening));
    }

    void lexExpression(bool block) {
        const Position opening = position(m_at);
        m_tokens.push_back({block ? TokenType::BlockBegin : TokenType::OutputBegin, "", opening});
        m_at += 2;
        m_at += peek() == '-' || (block && peek() == '+') ? 1 : 0;
        m_nesting.clear();
        while (!lexEnd(block)) {
            if (m_at >= m_source.size()) {
                throw TemplateError(block ? "{% is never closed" : "{{ is never closed", opening);
            }
            if (isBlank(peek())) {
                ++m_at;
            } else {
                lexToken();
            }
        }
    }

    bool lexEnd(bool block) {
        if (!m_nesting.empty()) {
            return false; // `}}` may close two braces of a dictionary
        }
        const char sign = peek();
        const std::size_t skip = sign == '-' || (block && sign == '+') ? 1 : 0;
        const std::string_view end = block ? "%}" : "}}";
        if (!std::string_view(m_source)
                 .substr(std::min(m_at + skip, m_source.size()))
                 .starts_with(end)) {
            return false;
        }
        m_tokens.push_back(
            {block ? TokenType::BlockEnd : TokenType::OutputEnd, "", position(m_at)});
        m_at += skip + 2;
        if (block) {
            afterBlock(sign);
        } else {
            m_stripNext = sign == '-';
        }
        return true;
    }

    void lexToken() {
        const char c = peek();
        const Position at = position(m_at);
        if (isNameStart(c)) {
            const std::size_t begin = m_at;
            while (isNameStart(peek()) || isDigit(peek())) {
                ++m_at;
            }
            m_tokens.push_back({TokenType::Name, m_source.substr(begin, m_at - begin), at});
        } else if (isDigit(c)) {
            lexNumber(at);
        } else if (c == '"' || c == '\'') {
            m_tokens.push_back({TokenType::String, readStringLiteral(m_source, m_at, at), at});
        } else {
            lexOperator(at);
        }
    }

    /// 0x1f, 0o17 or 0b101; the token is written in decimal.
    bool lexOtherBase(Position at) {
        const char letter = static_cast<char>(peek(1) | 0x20);
        const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
        if (peek() != '0' || base == 0) {
            return false;
        }
        std::uint64_t number = 0;
        const char* begin = m_source.data() + m_at + 2;
        const auto [end, error] =
            std::from_chars(begin, m_source.data() + m_source.size(), number, base);
        if (error != std::errc()) {
            throw TemplateError("a number is broken or too large", at);
        }
        m_at += 2 + static_cast<std::size_t>(end - begin);
        m_tokens.push_back({TokenType::Integer, std::to_string(number), at});
        return true;
    }

    void lexNumber(Position at) {
        if (lexOtherBase(at)) {
            return;
        }
        const std::size_t begin = m_at;
        bool real = false;
        while (isDigit(peek()) || peek() == '_') {
            ++m_at;
        }
        if (peek() == '.' && isDigit(peek(1))) {
            real = true;
            ++m_at;
            while (isDigit(peek())) {
                ++m_at;
            }
        }
        const std::size_t signLength = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
        if ((peek() == 'e' || peek() == 'E') && isDigit(peek(1 + signLength))) {
            real = true;
            m_at += 1 + signLength;
            while (isDigit(peek())) {
                ++m_at;
            }
        }
        std::string text = m_source.substr(begin, m_at - begin);
        std::erase(text, '_');
        m_tokens.push_back({real ? TokenType::Float : TokenType::Integer, std::move(text), at});
    }

    void lexOperator(Position at) {
        static constexpr std::array<std::string_view, 25> kOperators{
            "//", "**", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "<",
            ">",  "=",  "(",  ")",  "[",  "]",  "{", "}", ",", ":", ".", "|"};
        const std::string_view rest = std::string_view(m_source).substr(m_at);
        const auto* op = std::ranges::find_if(
            kOperators, [&](std::string_view candidate) { return rest.starts_with(candidate); });
        if (op == kOperators.end()) {
            throw TemplateError(fmt::format("the character '{}' is not expected here", rest[0]),
                                at);
        }
        if (*op == "(" || *op == "[" || *op == "{") {
            m_nesting.push_back((*op)[0]);
        } else if (*op == ")" || *op == "]" || *op == "}") {
            closeNesting((*op)[0], at);
        }
        m_tokens.push_back({TokenType::Operator, std::string(*op), at});
        m_at += op->size();
    }

    void closeNesting(char bracket, Position at) {
        const char opening = bracket == ')' ? '(' : bracket == ']' ? '[' : '{';
        if (m_nesting.empty() || m_nesting.back() != opening) {
            throw TemplateError(fmt::format("'{}' closes nothing", bracket), at);
        }
        m_nesting.pop_back();
    }

    std::string m_source;
    std::size_t m_at = 0;
    std::size_t m_counted = 0;
    Position m_position;
    std::string m_nesting; ///< open brackets
    bool m_stripNext = false;
    std::vector<Token> m_tokens;
};

} // namespace

std::vector<Token> tokenize(const std::string& source) {
    return Lexer(source).run();
}

} // namespace ecokv::jinja
