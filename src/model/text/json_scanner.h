#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Walks over JSON text without building a tree: the vocabulary and the merges of a large tokenizer
// are hundreds of thousands of strings, which a tree would take seconds to hold. Throws SyntaxError
// at the first thing that is not JSON; who calls turns it into a sentence. Not thread-safe.

#include <cstddef>
#include <string>
#include <string_view>

namespace ecokv::model {

class JsonScanner {
public:
    struct SyntaxError {};

    explicit JsonScanner(std::string_view text) : m_text(text) {}

    /// Skips white space; the next character, or '\0' at the end.
    char peek();
    void expect(char c);
    /// For "{ key : value , ... }" and "[ value , ... ]": enters with the bracket, then tells
    /// before each element whether there is one; leaves behind the closing bracket.
    void open(char bracket);
    bool nextElement(char closing);
    /// A key and its colon.
    std::string_view key();
    /// A string; valid until the next string is read. Throws if it is not UTF-8.
    std::string_view string();
    /// The digits of a number as they stand.
    std::string_view number();
    /// Any value, as it stands.
    std::string_view value();
    std::size_t position() const { return m_at; } ///< bytes read
    bool atEnd() { return peek() == '\0' && m_at == m_text.size(); }

private:
    [[noreturn]] static void fail() { throw SyntaxError(); }
    void skipString();
    std::string_view unescape(std::size_t begin, std::size_t end);
    char32_t hexadecimal(std::size_t at) const;

    std::string_view m_text;
    std::size_t m_at = 0;
    bool m_first = false; ///< no element was read since the bracket
    std::string m_unescaped;
};

} // namespace ecokv::model
