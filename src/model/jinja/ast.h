#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The syntax tree of a template. Nodes own their children and never change once parsed.

#include "model/jinja/template_error.h"
#include "model/jinja/value.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ecokv::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct CallArguments {
    std::vector<ExpressionPtr> positional;
    std::vector<std::pair<std::string, ExpressionPtr>> named;
    ExpressionPtr spreadList, spreadMap; ///< of `*list` and `**map`; null if there is none
};

struct Literal {
    Value value;
};
struct Name {
    std::string name;
};
struct ListLiteral {
    std::vector<ExpressionPtr> elements;
    bool isTuple = false;
};
struct MapLiteral {
    std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};
struct AttributeAccess {
    ExpressionPtr object;
    std::string name;
};
struct ItemAccess {
    ExpressionPtr object, key;
};
struct SliceAccess {
    ExpressionPtr object, begin, end, step; ///< null = left out
};
struct Call {
    ExpressionPtr callee;
    CallArguments arguments;
};
struct FilterCall {
    ExpressionPtr input; ///< null inside `{% filter %}` and `{% set x | f %}`
    std::string name;
    CallArguments arguments;
};
struct TestCall {
    ExpressionPtr input;
    std::string name;
    CallArguments arguments;
    bool negated = false;
};
struct Unary {
    std::string op; ///< "-", "+", "not"
    ExpressionPtr operand;
};
struct Binary {
    std::string op; ///< arithmetic and "~"
    ExpressionPtr left, right;
};
struct Logic {
    bool isAnd = true;
    ExpressionPtr left, right;
};
struct Comparison {
    ExpressionPtr first;
    std::vector<std::pair<std::string, ExpressionPtr>> rest; ///< a < b <= c; "in", "not in"
};
struct Conditional {
    ExpressionPtr value, condition, otherwise; ///< `otherwise` may be null
};

struct Expression {
    Position at;
    std::variant<Literal, Name, ListLiteral, MapLiteral, AttributeAccess, ItemAccess, SliceAccess,
                 Call, FilterCall, TestCall, Unary, Binary, Logic, Comparison, Conditional>
        node;
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

/// A name, or the parts a value is unpacked into.
struct AssignTarget {
    std::string name;
    std::vector<AssignTarget> parts; ///< empty for a name
};

struct TextStatement {
    std::string text;
};
struct OutputStatement {
    ExpressionPtr value;
};
struct IfStatement {
    std::vector<std::pair<ExpressionPtr, Body>> branches; ///< null condition = else
};
struct ForStatement {
    AssignTarget target;
    ExpressionPtr iterable, condition; ///< `condition` may be null
    Body body, otherwise;
};
struct SetStatement {
    AssignTarget target;
    std::string attribute;              ///< of the namespace `target`; "" = none
    ExpressionPtr value;                ///< null for the block form
    std::vector<ExpressionPtr> filters; ///< of the block form, FilterCall without input
    Body body;
};
struct MacroStatement {
    std::string name;
    std::vector<std::pair<std::string, ExpressionPtr>> parameters; ///< default may be null
    Body body;
    /// What its body asks for, and so may be given, beyond the parameters.
    bool takesMore = false, takesMoreNamed = false, takesCaller = false;
};
struct CallStatement {
    ExpressionPtr call; ///< of a macro, which gets `caller`
    MacroStatement caller;
};
struct WithStatement {
    std::vector<std::pair<std::string, ExpressionPtr>> variables;
    Body body;
};
struct FilterStatement {
    std::vector<ExpressionPtr> filters;
    Body body;
};
struct ScopeStatement {
    Body body; ///< of `generation`, which only marks text for training
};
struct LoopControl {
    bool isBreak = true; ///< else continue
};

struct Statement {
    Position at;
    std::variant<TextStatement, OutputStatement, IfStatement, ForStatement, SetStatement,
                 MacroStatement, CallStatement, WithStatement, FilterStatement, ScopeStatement,
                 LoopControl>
        node;
};

} // namespace ecokv::jinja
