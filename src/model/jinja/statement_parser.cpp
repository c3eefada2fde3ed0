// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/statement_parser.h"

#include "model/jinja/expression_parser.h"
#include "model/jinja/token_stream.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ecokv::jinja {

namespace {

constexpr int kMaxDepth = 100;

class StatementParser {
public:
    explicit StatementParser(const std::string& source)
        : m_tokens(tokenize(source)), m_expressions(m_tokens) {}

    Body parseAll() { return parseBody({}); }

private:
    /// Statements up to one of `ends`, whose block is opened and named, but not taken.
    Body parseBody(std::initializer_list<const char*> ends) {
        if (++m_depth > kMaxDepth) {
            throw TemplateError("blocks are nested too deeply", m_tokens.current().at);
        }
        Body body;
        while (true) {
            const Token token = m_tokens.current();
            if (token.type == TokenType::End) {
                if (ends.size() > 0) {
                    throw TemplateError(fmt::format("the template ends, but {} is missing",
                                                    fmt::join(ends, " or ")),
                                        token.at);
                }
                break;
            }
            m_tokens.take();
            if (token.type == TokenType::Text) {
                add(body, token.at, TextStatement{token.text});
            } else if (token.type == TokenType::OutputBegin) {
                add(body, token.at, OutputStatement{m_expressions.parseTuple()});
                m_tokens.expect(TokenType::OutputEnd);
            } else if (std::ranges::any_of(ends,
                                           [&](const char* end) { return m_tokens.isName(end); })) {
                break;
            } else {
                parseTag(body);
            }
        }
        --m_depth;
        return body;
    }

    template <class Node> static void add(Body& body, Position at, Node node) {
        body.push_back(std::make_unique<Statement>(Statement{at, std::move(node)}));
    }

    void endBlock() { m_tokens.expect(TokenType::BlockEnd); }

    void endBlock(const char* name) {
        m_tokens.expectName(name);
        endBlock();
    }

    void parseTag(Body& body) {
        const Position at = m_tokens.current().at;
        const std::string tag = m_tokens.takeName();
        if (tag == "if") {
            add(body, at, parseIf());
        } else if (tag == "for") {
            add(body, at, parseFor());
        } else if (tag == "set") {
            add(body, at, parseSet());
        } else if (tag == "macro") {
            add(body, at, parseMacro());
        } else if (tag == "call") {
            add(body, at, parseCall());
        } else if (tag == "with") {
            add(body, at, parseWith());
        } else if (tag == "filter") {
            add(body, at, parseFilter());
        } else if (tag == "generation") {
            endBlock();
            ScopeStatement scope{parseBody({"endgeneration"})};
            endBlock("endgeneration");
            add(body, at, std::move(scope));
        } else if (tag == "break" || tag == "continue") {
            if (m_loopDepth == 0) {
                throw TemplateError(fmt::format("'{}' stands outside a loop", tag), at);
            }
            endBlock();
            add(body, at, LoopControl{tag == "break"});
        } else {
            throw TemplateError(fmt::format("the tag '{}' is not supported or stands in the wrong "
                                            "place",
                                            tag),
                                at);
        }
    }

    AssignTarget parseOneTarget() {
        if (!m_tokens.skipOperator("(")) {
            return {m_tokens.takeName(), {}};
        }
        AssignTarget target = parseTarget();
        m_tokens.expectOperator(")");
        return target;
    }

    AssignTarget parseTarget() {
        if (++m_depth > kMaxDepth) {
            throw TemplateError("names are nested too deeply", m_tokens.current().at);
        }
        AssignTarget first = parseOneTarget();
        if (m_tokens.isOperator(",")) {
            AssignTarget several;
            several.parts.push_back(std::move(first));
            while (m_tokens.skipOperator(",")) {
                several.parts.push_back(parseOneTarget());
            }
            first = std::move(several);
        }
        --m_depth;
        return first;
    }

    IfStatement parseIf() {
        IfStatement statement;
        ExpressionPtr condition = m_expressions.parseTuple();
        while (true) {
            endBlock();
            Body body = parseBody({"elif", "else", "endif"});
            const bool last = condition == nullptr;
            statement.branches.emplace_back(std::move(condition), std::move(body));
            if (m_tokens.skipName("endif")) {
                break;
            }
            if (last) {
                m_tokens.fail("'endif'");
            }
            condition = m_tokens.takeName() == "elif" ? m_expressions.parseTuple() : nullptr;
        }
        endBlock();
        return statement;
    }

    ForStatement parseFor() {
        ForStatement statement;
        statement.target = parseTarget();
        m_tokens.expectName("in");
        statement.iterable = m_expressions.parseWithoutIf();
        if (m_tokens.skipName("if")) {
            statement.condition = m_expressions.parse();
        }
        if (m_tokens.isName("recursive")) {
            throw TemplateError("recursive loops are not supported", m_tokens.current().at);
        }
        endBlock();
        ++m_loopDepth;
        statement.body = parseBody({"else", "endfor"});
        --m_loopDepth;
        if (m_tokens.skipName("else")) {
            endBlock();
            statement.otherwise = parseBody({"endfor"});
        }
        endBlock("endfor");
        return statement;
    }

    SetStatement parseSet() {
        SetStatement statement;
        statement.target = parseTarget();
        if (statement.target.parts.empty() && m_tokens.skipOperator(".")) {
            statement.attribute = m_tokens.takeName();
        }
        if (m_tokens.skipOperator("=")) {
            statement.value = m_expressions.parseTuple();
            endBlock();
            return statement;
        }
        if (m_tokens.skipOperator("|")) {
            statement.filters = m_expressions.parseFilterNames();
        }
        endBlock();
        statement.body = parseBody({"endset"});
        endBlock("endset");
        return statement;
    }

    /// `(a, b=1)`
    void parseParameters(MacroStatement& statement) {
        m_tokens.expectOperator("(");
        while (!m_tokens.isOperator(")")) {
            std::string name = m_tokens.takeName();
            ExpressionPtr fallback = m_tokens.skipOperator("=") ? m_expressions.parse() : nullptr;
            statement.parameters.emplace_back(std::move(name), std::move(fallback));
            if (!m_tokens.skipOperator(",")) {
                break;
            }
        }
        m_tokens.expectOperator(")");
    }

    /// The body of a macro up to `end`, which loops around it do not reach into.
    void parseMacroBody(MacroStatement& statement, const char* end) {
        endBlock();
        const std::size_t begin = m_tokens.offset();
        const int loops = std::exchange(m_loopDepth, 0);
        statement.body = parseBody({end});
        m_loopDepth = loops;
        statement.takesMore = m_tokens.names("varargs", begin);
        statement.takesMoreNamed = m_tokens.names("kwargs", begin);
        statement.takesCaller = m_tokens.names("caller", begin);
        endBlock(end);
    }

    MacroStatement parseMacro() {
        MacroStatement statement;
        statement.name = m_tokens.takeName();
        parseParameters(statement);
        parseMacroBody(statement, "endmacro");
        return statement;
    }

    CallStatement parseCall() {
        CallStatement statement;
        statement.caller.name = "caller";
        if (m_tokens.isOperator("(")) {
            parseParameters(statement.caller);
        }
        const Position at = m_tokens.current().at;
        statement.call = m_expressions.parse();
        if (!std::holds_alternative<Call>(statement.call->node)) {
            throw TemplateError("'call' needs the call of a macro", at);
        }
        parseMacroBody(statement.caller, "endcall");
        return statement;
    }

    WithStatement parseWith() {
        WithStatement statement;
        while (m_tokens.current().type == TokenType::Name) {
            std::string name = m_tokens.takeName();
            m_tokens.expectOperator("=");
            statement.variables.emplace_back(std::move(name), m_expressions.parse());
            if (!m_tokens.skipOperator(",")) {
                break;
            }
        }
        endBlock();
        statement.body = parseBody({"endwith"});
        endBlock("endwith");
        return statement;
    }

    FilterStatement parseFilter() {
        FilterStatement statement;
        statement.filters = m_expressions.parseFilterNames();
        endBlock();
        statement.body = parseBody({"endfilter"});
        endBlock("endfilter");
        return statement;
    }

    TokenStream m_tokens;
    ExpressionParser m_expressions;
    int m_depth = 0;
    int m_loopDepth = 0;
};

} // namespace

Body parseTemplate(const std::string& source) {
    return StatementParser(source).parseAll();
}

} // namespace ecokv::jinja
