#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Cuts a template into text and tokens, with the white-space rules transformers uses
// (trim_blocks and lstrip_blocks on, one newline at the end dropped).

#include "model/jinja/template_error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ecokv::jinja {

enum class TokenType : std::uint8_t {
    Text,       ///< between the tags
    BlockBegin, ///< {%
    BlockEnd,
    OutputBegin, ///< {{
    OutputEnd,
    Name,
    String, ///< escapes resolved
    Integer,
    Float,
    Operator, ///< + - * / // % ** ~ == != < > <= >= = ( ) [ ] { } , : . |
    End,
};

struct Token {
    TokenType type = TokenType::End;
    std::string text;
    Position at;
};

/// Throws TemplateError.
std::vector<Token> tokenize(const std::string& source);

} // namespace ecokv::jinja
