#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The part Replace, which normalisers and decoders share, and the pattern it shares with Split.

#include "model/json_file.h"
#include "model/text/text_pattern.h"

#include <string>
#include <string_view>

namespace ecokv::model {

/// Reads the key `pattern`: {"String": ...} or {"Regex": ...}.
TextPattern readPattern(const JsonObject& step);

class Replacement {
public:
    static Replacement fromJson(const JsonObject& step);

    std::string apply(std::string_view text) const;
    /// True if `apply` takes away what stands at the front of `text`.
    bool removesStart(std::string_view text) const;

private:
    Replacement(TextPattern pattern, std::string content)
        : m_pattern(std::move(pattern)), m_content(std::move(content)) {}

    TextPattern m_pattern;
    std::string m_content;
};

} // namespace ecokv::model
