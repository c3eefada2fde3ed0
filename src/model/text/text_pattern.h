#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A regular expression of a tokenizer.json, compiled with PCRE2 so that it matches what the
// reference's engine (Oniguruma, Ruby syntax, Unicode) matches; constructs in which the two differ
// are refused. Immutable; matching is thread-safe.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ecokv::model {

struct TextSpan {
    std::size_t begin = 0, end = 0; ///< bytes

    bool operator==(const TextSpan&) const = default;
};

class TextPattern {
public:
    /// `origin` names the file in errors.
    static TextPattern regex(const std::string& pattern, const std::string& origin);
    static TextPattern literal(const std::string& text, const std::string& origin);

    /// All matches from left to right; `text` must be valid UTF-8.
    std::vector<TextSpan> findAll(std::string_view text) const;
    /// The first match, or an empty span at the end of `text` if there is none.
    TextSpan findFirst(std::string_view text) const;

private:
    std::vector<TextSpan> findLiterals(std::string_view text) const;

    struct Code;
    explicit TextPattern(std::shared_ptr<const Code> code) : m_code(std::move(code)) {}
    std::shared_ptr<const Code> m_code;
};

} // namespace ecokv::model
