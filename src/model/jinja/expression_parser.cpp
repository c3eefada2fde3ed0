// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/expression_parser.h"

#include <array>
#include <charconv>
#include <initializer_list>

#include <fmt/format.h>

namespace ecokv::jinja {

namespace {

constexpr int kMaxDepth = 200;

template <class Node> ExpressionPtr make(Position at, Node node) {
    return std::make_unique<Expression>(Expression{at, std::move(node)});
}

class DepthGuard {
public:
    DepthGuard(int& depth, Position at) : m_depth(depth) {
        if (++m_depth > kMaxDepth) {
            --m_depth;
            throw TemplateError("expressions are nested too deeply", at);
        }
    }
    ~DepthGuard() { --m_depth; }
    DepthGuard(const DepthGuard&) = delete;
    DepthGuard& operator=(const DepthGuard&) = delete;

private:
    int& m_depth;
};

} // namespace

ExpressionPtr ExpressionParser::parse() {
    const DepthGuard guard(m_depth, m_tokens.current().at);
    const Position at = m_tokens.current().at;
    ExpressionPtr value = parseOr();
    while (m_tokens.skipName("if")) {
        ExpressionPtr condition = parseOr();
        ExpressionPtr otherwise = m_tokens.skipName("else") ? parse() : nullptr;
        value = make(at, Conditional{std::move(value), std::move(condition), std::move(otherwise)});
    }
    return value;
}

ExpressionPtr ExpressionParser::parseWithoutIf() {
    const Position at = m_tokens.current().at;
    ExpressionPtr first = parseOr();
    if (!m_tokens.isOperator(",")) {
        return first;
    }
    ListLiteral list{{}, true};
    list.elements.push_back(std::move(first));
    while (m_tokens.skipOperator(",")) {
        list.elements.push_back(parseOr());
    }
    return make(at, std::move(list));
}

ExpressionPtr ExpressionParser::parseTuple() {
    const Position at = m_tokens.current().at;
    ExpressionPtr first = parse();
    if (!m_tokens.isOperator(",")) {
        return first;
    }
    ListLiteral list{{}, true};
    list.elements.push_back(std::move(first));
    while (m_tokens.skipOperator(",")) {
        const TokenType next = m_tokens.current().type;
        if (next == TokenType::BlockEnd || next == TokenType::OutputEnd) {
            break;
        }
        list.elements.push_back(parse());
    }
    return make(at, std::move(list));
}

ExpressionPtr ExpressionParser::parseOr() {
    ExpressionPtr left = parseAnd();
    while (m_tokens.isName("or")) {
        const Position at = m_tokens.take().at;
        left = make(at, Logic{false, std::move(left), parseAnd()});
    }
    return left;
}

ExpressionPtr ExpressionParser::parseAnd() {
    ExpressionPtr left = parseNot();
    while (m_tokens.isName("and")) {
        const Position at = m_tokens.take().at;
        left = make(at, Logic{true, std::move(left), parseNot()});
    }
    return left;
}

ExpressionPtr ExpressionParser::parseNot() {
    if (m_tokens.isName("not")) {
        const Position at = m_tokens.take().at;
        const DepthGuard guard(m_depth, at);
        return make(at, Unary{"not", parseNot()});
    }
    return parseComparison();
}

ExpressionPtr ExpressionParser::parseComparison() {
    const Position at = m_tokens.current().at;
    ExpressionPtr first = parseSum();
    std::vector<std::pair<std::string, ExpressionPtr>> rest;
    const auto operatorHere = [&]() -> std::string {
        for (const char* op : {"==", "!=", "<=", ">=", "<", ">"}) {
            if (m_tokens.skipOperator(op)) {
                return op;
            }
        }
        if (m_tokens.skipName("in")) {
            return "in";
        }
        if (m_tokens.isName("not") && m_tokens.ahead().type == TokenType::Name &&
            m_tokens.ahead().text == "in") {
            m_tokens.take();
            m_tokens.take();
            return "not in";
        }
        return {};
    };
    for (std::string op = operatorHere(); !op.empty(); op = operatorHere()) {
        rest.emplace_back(std::move(op), parseSum());
    }
    return rest.empty() ? std::move(first)
                        : make(at, Comparison{std::move(first), std::move(rest)});
}

ExpressionPtr ExpressionParser::parseSum() {
    ExpressionPtr left = parseConcat();
    while (m_tokens.isOperator("+") || m_tokens.isOperator("-")) {
        const Token op = m_tokens.take();
        left = make(op.at, Binary{op.text, std::move(left), parseConcat()});
    }
    return left;
}

ExpressionPtr ExpressionParser::parseConcat() {
    ExpressionPtr left = parseProduct();
    while (m_tokens.isOperator("~")) {
        const Position at = m_tokens.take().at;
        left = make(at, Binary{"~", std::move(left), parseProduct()});
    }
    return left;
}

ExpressionPtr ExpressionParser::parseProduct() {
    ExpressionPtr left = parsePower();
    while (m_tokens.isOperator("*") || m_tokens.isOperator("/") || m_tokens.isOperator("//") ||
           m_tokens.isOperator("%")) {
        const Token op = m_tokens.take();
        left = make(op.at, Binary{op.text, std::move(left), parsePower()});
    }
    return left;
}

ExpressionPtr ExpressionParser::parsePower() {
    ExpressionPtr left = parseUnary(true);
    while (m_tokens.isOperator("**")) {
        const Position at = m_tokens.take().at;
        left = make(at, Binary{"**", std::move(left), parseUnary(true)});
    }
    return left;
}

ExpressionPtr ExpressionParser::parseUnary(bool withFilters) {
    ExpressionPtr value;
    if (m_tokens.isOperator("-") || m_tokens.isOperator("+")) {
        const Token op = m_tokens.take();
        const DepthGuard guard(m_depth, op.at);
        value = make(op.at, Unary{op.text, parseUnary(false)});
    } else {
        value = parsePostfix(parsePrimary());
    }
    return withFilters ? parseFiltersAndTests(std::move(value)) : std::move(value);
}

ExpressionPtr ExpressionParser::parsePrimary() {
    const Token token = m_tokens.current();
    switch (token.type) {
    case TokenType::Name:
        return parseNameOrConstant();
    case TokenType::String: {
        std::string text;
        while (m_tokens.current().type == TokenType::String) { // neighbours are joined
            text += m_tokens.take().text;
        }
        return make(token.at, Literal{Value(std::move(text))});
    }
    case TokenType::Integer: {
        std::int64_t number = 0;
        const auto* end = token.text.data() + token.text.size();
        if (std::from_chars(token.text.data(), end, number).ec != std::errc()) {
            throw TemplateError("the number is too large", token.at);
        }
        m_tokens.take();
        return make(token.at, Literal{Value(number)});
    }
    case TokenType::Float: {
        double number = 0;
        std::from_chars(token.text.data(), token.text.data() + token.text.size(), number);
        m_tokens.take();
        return make(token.at, Literal{Value(number)});
    }
    default:
        break;
    }
    if (m_tokens.isOperator("(")) {
        return parseParentheses();
    }
    if (m_tokens.isOperator("[")) {
        return parseList();
    }
    if (m_tokens.isOperator("{")) {
        return parseMap();
    }
    m_tokens.fail("an expression");
}

ExpressionPtr ExpressionParser::parseNameOrConstant() {
    const Token token = m_tokens.take();
    if (token.text == "true" || token.text == "True") {
        return make(token.at, Literal{Value(true)});
    }
    if (token.text == "false" || token.text == "False") {
        return make(token.at, Literal{Value(false)});
    }
    if (token.text == "none" || token.text == "None") {
        return make(token.at, Literal{Value(Value::None{})});
    }
    return make(token.at, Name{token.text});
}

ExpressionPtr ExpressionParser::parseParentheses() {
    const Position at = m_tokens.take().at;
    ListLiteral list{{}, true};
    bool tuple = false;
    while (!m_tokens.isOperator(")")) {
        list.elements.push_back(parse());
        if (!m_tokens.skipOperator(",")) {
            break;
        }
        tuple = true;
    }
    m_tokens.expectOperator(")");
    return list.elements.size() == 1 && !tuple ? std::move(list.elements.front())
                                               : make(at, std::move(list));
}

ExpressionPtr ExpressionParser::parseList() {
    const Position at = m_tokens.take().at;
    ListLiteral list;
    while (!m_tokens.isOperator("]")) {
        list.elements.push_back(parse());
        if (!m_tokens.skipOperator(",")) {
            break;
        }
    }
    m_tokens.expectOperator("]");
    return make(at, std::move(list));
}

ExpressionPtr ExpressionParser::parseMap() {
    const Position at = m_tokens.take().at;
    MapLiteral map;
    while (!m_tokens.isOperator("}")) {
        ExpressionPtr key = parse();
        m_tokens.expectOperator(":");
        map.entries.emplace_back(std::move(key), parse());
        if (!m_tokens.skipOperator(",")) {
            break;
        }
    }
    m_tokens.expectOperator("}");
    return make(at, std::move(map));
}

ExpressionPtr ExpressionParser::parsePostfix(ExpressionPtr object) {
    while (true) {
        const Position at = m_tokens.current().at;
        if (m_tokens.skipOperator(".")) {
            const bool index = m_tokens.current().type == TokenType::Integer; // items.0
            if (index) {
                object = make(at, ItemAccess{std::move(object), parsePrimary()});
            } else {
                object = make(at, AttributeAccess{std::move(object), m_tokens.takeName()});
            }
        } else if (m_tokens.isOperator("[")) {
            object = parseSubscript(std::move(object));
        } else if (m_tokens.isOperator("(")) {
            object = make(at, Call{std::move(object), parseArguments()});
        } else {
            return object;
        }
    }
}

ExpressionPtr ExpressionParser::parseSubscript(ExpressionPtr object) {
    const Position at = m_tokens.take().at;
    std::array<ExpressionPtr, 3> parts;
    std::size_t count = 0;
    bool slice = false;
    while (!m_tokens.isOperator("]")) {
        if (m_tokens.skipOperator(":")) {
            slice = true;
            if (++count > 2) {
                m_tokens.fail("']'");
            }
        } else if (parts[count] == nullptr) {
            parts[count] = parse();
        } else {
            m_tokens.fail("']'");
        }
    }
    m_tokens.take();
    if (slice) {
        return make(at, SliceAccess{std::move(object), std::move(parts[0]), std::move(parts[1]),
                                    std::move(parts[2])});
    }
    if (parts[0] == nullptr) {
        throw TemplateError("the brackets hold no index", at);
    }
    return make(at, ItemAccess{std::move(object), std::move(parts[0])});
}

CallArguments ExpressionParser::parseArguments() {
    CallArguments arguments;
    m_tokens.expectOperator("(");
    while (!m_tokens.isOperator(")")) {
        parseArgument(arguments);
        if (!m_tokens.skipOperator(",")) {
            break;
        }
    }
    m_tokens.expectOperator(")");
    return arguments;
}

void ExpressionParser::parseArgument(CallArguments& arguments) {
    const bool named = m_tokens.current().type == TokenType::Name &&
                       m_tokens.ahead().type == TokenType::Operator && m_tokens.ahead().text == "=";
    if (m_tokens.isOperator("*") && arguments.spreadList == nullptr) {
        m_tokens.take();
        arguments.spreadList = parse();
    } else if (m_tokens.isOperator("**") && arguments.spreadMap == nullptr) {
        m_tokens.take();
        arguments.spreadMap = parse();
    } else if (named) {
        std::string name = m_tokens.take().text;
        m_tokens.take();
        arguments.named.emplace_back(std::move(name), parse());
    } else if (arguments.named.empty() && arguments.spreadList == nullptr) {
        arguments.positional.push_back(parse());
    } else {
        m_tokens.fail("a named argument");
    }
}

ExpressionPtr ExpressionParser::parseFiltersAndTests(ExpressionPtr input) {
    while (true) {
        if (m_tokens.isOperator("|")) {
            m_tokens.take();
            input = parseFilter(std::move(input));
        } else if (m_tokens.isName("is")) {
            input = parseTest(std::move(input));
        } else if (m_tokens.isOperator("(")) {
            const Position at = m_tokens.current().at;
            input = make(at, Call{std::move(input), parseArguments()});
        } else {
            return input;
        }
    }
}

std::string ExpressionParser::parseDottedName() {
    std::string name = m_tokens.takeName();
    while (m_tokens.skipOperator(".")) {
        name += '.';
        name += m_tokens.takeName();
    }
    return name;
}

ExpressionPtr ExpressionParser::parseFilter(ExpressionPtr input) {
    const Position at = m_tokens.current().at;
    FilterCall filter{std::move(input), parseDottedName(), {}};
    if (m_tokens.isOperator("(")) {
        filter.arguments = parseArguments();
    }
    return make(at, std::move(filter));
}

std::vector<ExpressionPtr> ExpressionParser::parseFilterNames() {
    std::vector<ExpressionPtr> filters;
    do {
        filters.push_back(parseFilter(nullptr));
    } while (m_tokens.skipOperator("|"));
    return filters;
}

ExpressionPtr ExpressionParser::parseTest(ExpressionPtr input) {
    const Position at = m_tokens.take().at;
    TestCall test;
    test.input = std::move(input);
    test.negated = m_tokens.skipName("not");
    test.name = parseDottedName();
    const auto endsTest = [&] {
        for (const char* word : {"else", "or", "and", "is", "if", "not", "in"}) {
            if (m_tokens.isName(word)) {
                return true;
            }
        }
        return false;
    };
    const TokenType next = m_tokens.current().type;
    const bool operand = next == TokenType::String || next == TokenType::Integer ||
                         next == TokenType::Float || next == TokenType::Name ||
                         m_tokens.isOperator("[") || m_tokens.isOperator("{");
    if (m_tokens.isOperator("(")) {
        test.arguments = parseArguments();
    } else if (operand && !endsTest()) { // x is divisibleby 3
        test.arguments.positional.push_back(parsePostfix(parsePrimary()));
    }
    return make(at, std::move(test));
}

} // namespace ecokv::jinja
