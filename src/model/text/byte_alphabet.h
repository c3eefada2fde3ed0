#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The alphabet of byte-level BPE (GPT-2): every byte is written as one printable character, so that
// vocabularies are plain text. Printable bytes stand for themselves, the others from U+0100 on.

#include <optional>
#include <string>
#include <string_view>

namespace ecokv::model {

/// Bytes to their characters, UTF-8.
std::string bytesToAlphabet(std::string_view bytes);
/// Back; nothing if a character is not of the alphabet.
std::optional<std::string> alphabetToBytes(std::string_view text);

} // namespace ecokv::model
