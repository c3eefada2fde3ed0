#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Properties of single characters, as tokenizers split and normalise by them. Unicode 14, from
// utf8proc; the White_Space set has not changed since. Any thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ecokv::model {

bool isWhiteSpace(char32_t c);
bool isNumeric(char32_t c);        ///< Nd, Nl, No
bool isPunctuation(char32_t c);    ///< P*, and all ASCII signs
bool isMark(char32_t c);           ///< M*
bool isNonspacingMark(char32_t c); ///< Mn
bool isOther(char32_t c);          ///< Cc, Cf, Cs, Co
/// Appends the lower-case form of `c`, which may be two characters.
void appendLower(std::string& text, char32_t c);
bool isAscii(std::string_view text);
/// Where the last character of `text`, which is not empty, begins.
std::size_t lastCharacter(std::string_view text);
std::size_t leadingWhiteSpace(std::string_view text);  ///< bytes
std::size_t trailingWhiteSpace(std::string_view text); ///< bytes

enum class UnicodeForm : std::uint8_t { Nfc, Nfd, Nfkc, Nfkd };

/// `text`, which must be valid UTF-8, in a Unicode normal form.
std::string toForm(const std::string& text, UnicodeForm form);

/// Bytes of the grapheme cluster ("user character") at the start of `text`, which is not empty.
std::size_t graphemeLength(std::string_view text);

} // namespace ecokv::model
