#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// SentencePiece's table of replacements (`precompiled_charsmap`: a double-array trie over UTF-8 and
// the texts it leads to), applied as the reference does: whole grapheme clusters under six bytes
// first, then single characters, always with the shortest entry that the text begins with (field
// case F112). Immutable.

#include "model/json_file.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ecokv::model {

class PrecompiledMap {
public:
    static PrecompiledMap fromJson(const JsonObject& step);

    std::string apply(std::string_view text) const;

private:
    std::optional<std::string_view> replacementOf(std::string_view part) const;
    void appendGrapheme(std::string_view grapheme, std::string& result) const;

    std::vector<std::uint32_t> m_units; ///< of the trie
    std::string m_texts;                ///< each ends with a zero byte
};

} // namespace ecokv::model
