// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/token_stream.h"

#include <algorithm>

#include <fmt/format.h>

namespace ecokv::jinja {

std::string TokenStream::describe(const Token& token) {
    switch (token.type) {
    case TokenType::Text:
        return "text";
    case TokenType::BlockBegin:
        return "'{%'";
    case TokenType::BlockEnd:
        return "'%}'";
    case TokenType::OutputBegin:
        return "'{{'";
    case TokenType::OutputEnd:
        return "'}}'";
    case TokenType::End:
        return "the end of the template";
    case TokenType::String:
        return "a string";
    default:
        return fmt::format("'{}'", token.text);
    }
}

void TokenStream::fail(const std::string& wanted) const {
    throw TemplateError(fmt::format("{} is expected, but {} follows", wanted, describe(current())),
                        current().at);
}

bool TokenStream::names(std::string_view name, std::size_t begin) const {
    return std::any_of(
        m_tokens.begin() + static_cast<std::ptrdiff_t>(begin),
        m_tokens.begin() + static_cast<std::ptrdiff_t>(m_at),
        [&](const Token& token) { return token.type == TokenType::Name && token.text == name; });
}

void TokenStream::expectOperator(std::string_view op) {
    if (!skipOperator(op)) {
        fail(fmt::format("'{}'", op));
    }
}

void TokenStream::expectName(std::string_view name) {
    if (!skipName(name)) {
        fail(fmt::format("'{}'", name));
    }
}

void TokenStream::expect(TokenType type) {
    if (current().type != type) {
        fail(describe({type, "", {}}));
    }
    take();
}

std::string TokenStream::takeName() {
    if (current().type != TokenType::Name) {
        fail("a name");
    }
    return take().text;
}

} // namespace ecokv::jinja
