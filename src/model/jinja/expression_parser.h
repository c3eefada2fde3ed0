#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Expressions of a template, with Jinja's precedences. Throws TemplateError.

#include "model/jinja/ast.h"
#include "model/jinja/token_stream.h"

namespace ecokv::jinja {

class ExpressionParser {
public:
    explicit ExpressionParser(TokenStream& tokens) : m_tokens(tokens) {}

    ExpressionPtr parse();          ///< with inline if
    ExpressionPtr parseTuple();     ///< `a, b` without parentheses is a list
    ExpressionPtr parseWithoutIf(); ///< the iterable of a loop, whose `if` is its filter
    std::vector<ExpressionPtr> parseFilterNames();

private:
    ExpressionPtr parseOr();
    ExpressionPtr parseAnd();
    ExpressionPtr parseNot();
    ExpressionPtr parseComparison();
    ExpressionPtr parseSum();
    ExpressionPtr parseConcat();
    ExpressionPtr parseProduct();
    ExpressionPtr parsePower();
    ExpressionPtr parseUnary(bool withFilters);
    ExpressionPtr parsePrimary();
    ExpressionPtr parseNameOrConstant();
    ExpressionPtr parseParentheses();
    ExpressionPtr parseList();
    ExpressionPtr parseMap();
    ExpressionPtr parsePostfix(ExpressionPtr object);
    ExpressionPtr parseSubscript(ExpressionPtr object);
    ExpressionPtr parseFiltersAndTests(ExpressionPtr input);
    ExpressionPtr parseFilter(ExpressionPtr input);
    ExpressionPtr parseTest(ExpressionPtr input);
    CallArguments parseArguments();
    void parseArgument(CallArguments& arguments);
    std::string parseDottedName();

    TokenStream& m_tokens;
    int m_depth = 0; ///< of nested expressions, so that a hostile one cannot exhaust the stack
};

} // namespace ecokv::jinja
