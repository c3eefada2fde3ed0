#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// UTF-8 one character at a time. Broken sequences are cut as Unicode recommends (and as Rust's
// from_utf8_lossy and Python's "replace" do): one U+FFFD per maximal broken part.

#include <cstddef>
#include <string>
#include <string_view>

namespace ecokv::model {

struct Utf8Char {
    char32_t codePoint = 0xfffd;
    std::size_t length = 1; ///< bytes consumed, at least 1
    bool valid = false;
    bool incomplete = false; ///< the text ended inside a sequence that was right so far
};

/// The character at `offset`, which must lie inside `text`.
Utf8Char utf8At(std::string_view text, std::size_t offset);
void appendUtf8(std::string& text, char32_t codePoint);
bool isValidUtf8(std::string_view text);
/// `text` with broken sequences replaced by U+FFFD.
std::string sanitizeUtf8(std::string_view text);

} // namespace ecokv::model
