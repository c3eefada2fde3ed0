#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The tokens of a template with one step of look-ahead, as the two parsers read them.

#include "model/jinja/lexer.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace ecokv::jinja {

class TokenStream {
public:
    explicit TokenStream(std::vector<Token> tokens) : m_tokens(std::move(tokens)) {}

    const Token& current() const { return m_tokens[m_at]; }
    const Token& ahead() const { return m_tokens[std::min(m_at + 1, m_tokens.size() - 1)]; }
    Token take() { return m_tokens[m_at + 1 < m_tokens.size() ? m_at++ : m_at]; }

    bool isOperator(std::string_view op) const {
        return current().type == TokenType::Operator && current().text == op;
    }
    bool isName(std::string_view name) const {
        return current().type == TokenType::Name && current().text == name;
    }
    bool skipOperator(std::string_view op) { return skipIf(isOperator(op)); }
    bool skipName(std::string_view name) { return skipIf(isName(name)); }

    /// Where the current token stands, for names().
    std::size_t offset() const { return m_at; }
    /// Is `name` among the tokens from `begin` up to the current one?
    bool names(std::string_view name, std::size_t begin) const;

    /// The next four throw TemplateError if the current token is something else.
    void expectOperator(std::string_view op);
    void expectName(std::string_view name);
    void expect(TokenType type);
    std::string takeName();

    /// "'%}'", "the name 'endif'", ...
    static std::string describe(const Token& token);
    [[noreturn]] void fail(const std::string& wanted) const;

private:
    bool skipIf(bool matches) {
        m_at += matches ? 1 : 0;
        return matches;
    }

    std::vector<Token> m_tokens; ///< never empty; the last is TokenType::End
    std::size_t m_at = 0;
};

} // namespace ecokv::jinja
