// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/expression_evaluator.h"

#include "model/jinja/filters.h"
#include "model/jinja/functions.h"
#include "model/jinja/methods.h"
#include "model/jinja/operators.h"
#include "model/jinja/tests.h"

#include <fmt/format.h>

namespace ecokv::jinja {

namespace {

void refuseUndefined(const Value& object, const std::string& wanted) {
    if (object.isUndefined()) {
        throw TemplateError(fmt::format("'{}' is asked of an undefined value", wanted));
    }
}

} // namespace

void Budget::spend() {
    if (--steps < 0) {
        throw TemplateError("the template takes too many steps");
    }
}

Value ExpressionEvaluator::evaluate(const Expression& expression) const {
    try {
        m_budget.spend();
        return std::visit(*this, expression.node);
    } catch (const TemplateError& error) {
        if (error.position()) {
            throw;
        }
        throw TemplateError(error.what(), expression.at);
    }
}

Value ExpressionEvaluator::evaluateOptional(const ExpressionPtr& expression) const {
    return expression == nullptr ? Value() : evaluate(*expression);
}

Arguments ExpressionEvaluator::evaluateArguments(const CallArguments& arguments) const {
    Arguments values;
    for (const ExpressionPtr& argument : arguments.positional) {
        values.positional.push_back(evaluate(*argument));
    }
    for (const auto& [name, argument] : arguments.named) {
        values.named.emplace_back(name, evaluate(*argument));
    }
    if (arguments.spreadList != nullptr) {
        for (const Value& element : evaluate(*arguments.spreadList).elements()) {
            values.positional.push_back(element);
        }
    }
    if (arguments.spreadMap != nullptr) {
        const Value map = evaluate(*arguments.spreadMap);
        if (!map.isMap()) {
            throw TemplateError(fmt::format("'**' needs a mapping, not {}", map.typeName()));
        }
        for (const auto& [name, value] : map.asMap()) {
            values.named.emplace_back(name.text(), value);
        }
    }
    return values;
}

Value ExpressionEvaluator::operator()(const Name& node) const {
    if (const Value* value = m_scope.find(node.name)) {
        return *value;
    }
    for (const auto& [name, function] : globalFunctions()) {
        if (name.asString() == node.name) {
            return function;
        }
    }
    return Value(Value::Undefined{node.name});
}

Value ExpressionEvaluator::operator()(const ListLiteral& node) const {
    List list;
    for (const ExpressionPtr& element : node.elements) {
        list.push_back(evaluate(*element));
    }
    return node.isTuple ? Value::tuple(std::move(list)) : Value(std::move(list));
}

Value ExpressionEvaluator::operator()(const MapLiteral& node) const {
    Map map;
    for (const auto& [key, value] : node.entries) {
        assignKey(map, evaluate(*key), evaluate(*value));
    }
    return Value(std::move(map));
}

/// Python's getattr first, then the element of that name.
Value ExpressionEvaluator::operator()(const AttributeAccess& node) const {
    const Value object = evaluate(*node.object);
    refuseUndefined(object, node.name);
    if (auto method = boundMethod(object, node.name)) {
        return *std::move(method);
    }
    return item(object, Value(node.name));
}

/// The element first, then the attribute.
Value ExpressionEvaluator::operator()(const ItemAccess& node) const {
    const Value object = evaluate(*node.object);
    const Value key = evaluate(*node.key);
    refuseUndefined(object, key.text());
    Value found = item(object, key);
    if (found.isUndefined() && key.isString()) {
        if (auto method = boundMethod(object, key.asString())) {
            return *std::move(method);
        }
    }
    return found;
}

Value ExpressionEvaluator::operator()(const SliceAccess& node) const {
    const Value object = evaluate(*node.object);
    refuseUndefined(object, "a slice");
    return slice(object, evaluateOptional(node.begin), evaluateOptional(node.end),
                 evaluateOptional(node.step));
}

Value ExpressionEvaluator::call(const Call& node, const Value* caller) const {
    const Value callee = evaluate(*node.callee);
    if (!callee.isFunction()) {
        throw TemplateError(fmt::format("{} cannot be called", callee.typeName()));
    }
    Arguments arguments = evaluateArguments(node.arguments);
    if (caller != nullptr) {
        arguments.named.emplace_back("caller", *caller);
    }
    return callee.asFunction()(arguments);
}

Value ExpressionEvaluator::operator()(const Call& node) const {
    return call(node, nullptr);
}

Value ExpressionEvaluator::callWith(const Expression& expression, const Value& caller) const {
    try {
        m_budget.spend();
        return call(std::get<Call>(expression.node), &caller);
    } catch (const TemplateError& error) {
        throw TemplateError(error.what(), error.position().value_or(expression.at));
    }
}

Value ExpressionEvaluator::operator()(const FilterCall& node) const {
    return applyFilter(node.name, evaluate(*node.input), evaluateArguments(node.arguments));
}

Value ExpressionEvaluator::applyFilters(const std::vector<ExpressionPtr>& filters,
                                        Value input) const {
    for (const ExpressionPtr& expression : filters) {
        const auto& filter = std::get<FilterCall>(expression->node);
        input = applyFilter(filter.name, input, evaluateArguments(filter.arguments));
    }
    return input;
}

Value ExpressionEvaluator::operator()(const TestCall& node) const {
    const bool result =
        applyTest(node.name, evaluate(*node.input), evaluateArguments(node.arguments));
    return Value(result != node.negated);
}

Value ExpressionEvaluator::operator()(const Unary& node) const {
    return applyUnary(node.op, evaluate(*node.operand));
}

Value ExpressionEvaluator::operator()(const Binary& node) const {
    const Value left = evaluate(*node.left);
    return applyBinary(node.op, left, evaluate(*node.right));
}

Value ExpressionEvaluator::operator()(const Logic& node) const {
    Value left = evaluate(*node.left);
    return left.truthy() == node.isAnd ? evaluate(*node.right) : left;
}

Value ExpressionEvaluator::operator()(const Comparison& node) const {
    Value left = evaluate(*node.first);
    for (const auto& [op, expression] : node.rest) {
        Value right = evaluate(*expression);
        if (!compare(op, left, right)) {
            return Value(false);
        }
        left = std::move(right);
    }
    return Value(true);
}

Value ExpressionEvaluator::operator()(const Conditional& node) const {
    return evaluate(*node.condition).truthy() ? evaluate(*node.value)
                                              : evaluateOptional(node.otherwise);
}

} // namespace ecokv::jinja
