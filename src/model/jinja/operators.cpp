// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/operators.h"

#include "model/jinja/characters.h"
#include "model/jinja/string_format.h"
#include "model/jinja/template_error.h"
#include "model/jinja/text_filters.h"

#include <algorithm>
#include <cmath>
#include <compare>

#include <fmt/format.h>

namespace ecokv::jinja {

namespace {

constexpr std::int64_t kMaxRepeat = 1'000'000; // elements of [1] * n

[[noreturn]] void refuse(const std::string& op, const Value& left, const Value& right) {
    throw TemplateError(
        fmt::format("'{}' does not work between {} and {}", op, left.typeName(), right.typeName()));
}

/// `result` by reference: it may be written while the first argument is evaluated.
std::int64_t checked(bool overflowed, const std::int64_t& result) {
    if (overflowed) {
        throw TemplateError("the result is too large for an integer");
    }
    return result;
}

void refuseZero(double divisor) {
    if (divisor == 0.0) {
        throw TemplateError("a number is divided by zero");
    }
}

Value integerPower(std::int64_t base, std::int64_t exponent) {
    if (exponent < 0) {
        return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
    }
    std::int64_t result = 1;
    for (; exponent > 0; --exponent) {
        result = checked(__builtin_mul_overflow(result, base, &result), result);
        if (base == 0 || base == 1) {
            break;
        }
    }
    return Value(result);
}

Value integerArithmetic(const std::string& op, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (op == "+") {
        return Value(checked(__builtin_add_overflow(a, b, &result), result));
    }
    if (op == "-") {
        return Value(checked(__builtin_sub_overflow(a, b, &result), result));
    }
    if (op == "*") {
        return Value(checked(__builtin_mul_overflow(a, b, &result), result));
    }
    if (op == "**") {
        return integerPower(a, b);
    }
    refuseZero(static_cast<double>(b));
    if (op == "/") {
        return Value(static_cast<double>(a) / static_cast<double>(b));
    }
    if (b == -1) { // the one divisor that can overflow
        return Value(op == "//" ? checked(a == INT64_MIN, a == INT64_MIN ? 0 : -a)
                                : std::int64_t{0});
    }
    const std::int64_t remainder = a % b;
    const bool floors = remainder != 0 && (remainder < 0) != (b < 0); // Python rounds down
    return Value(op == "//" ? a / b - (floors ? 1 : 0) : remainder + (floors ? b : 0));
}

Value realArithmetic(const std::string& op, double a, double b) {
    if (op == "+") {
        return Value(a + b);
    }
    if (op == "-") {
        return Value(a - b);
    }
    if (op == "*") {
        return Value(a * b);
    }
    if (op == "**") {
        return Value(std::pow(a, b));
    }
    refuseZero(b);
    if (op == "/") {
        return Value(a / b);
    }
    return Value(op == "//" ? std::floor(a / b) : a - b * std::floor(a / b));
}

Value repeat(const Value& sequence, std::int64_t times) {
    times = std::max<std::int64_t>(times, 0);
    if (sequence.isString()) {
        return Value(repeatText(sequence.asString(), times));
    }
    const std::int64_t size = std::ssize(sequence.asList());
    if (size > 0 && times > kMaxRepeat / size) {
        throw TemplateError("a repetition is too long");
    }
    List list;
    for (std::int64_t i = 0; i < times; ++i) {
        list.insert(list.end(), sequence.asList().begin(), sequence.asList().end());
    }
    return Value(std::move(list));
}

Value addSequences(const Value& left, const Value& right) {
    if (left.isString() && right.isString()) {
        if (!left.isSafe() && !right.isSafe()) {
            return Value(left.asString() + right.asString());
        }
        const auto escaped = [](const Value& side) { // text marked safe escapes what joins it
            return side.isSafe() ? side.asString() : escapeHtml(side.asString());
        };
        return Value::safe(escaped(left) + escaped(right));
    }
    if (left.isList() && right.isList()) {
        List list = left.asList();
        list.insert(list.end(), right.asList().begin(), right.asList().end());
        return left.isTuple() ? Value::tuple(std::move(list)) : Value(std::move(list));
    }
    refuse("+", left, right);
}

bool contains(const Value& container, const Value& element) {
    if (container.isString()) {
        return container.asString().find(element.asString()) != std::string::npos;
    }
    if (container.isMap() || container.isNamespace()) {
        return container.findKey(element) != nullptr;
    }
    const List elements = container.elements();
    return std::ranges::any_of(elements, [&](const Value& e) { return e.equals(element); });
}

} // namespace

Value applyBinary(const std::string& op, const Value& left, const Value& right) {
    if (op == "~") {
        return Value(left.text() + right.text());
    }
    for (const Value* side : {&left, &right}) {
        if (side->isUndefined()) {
            throw TemplateError(fmt::format("'{}' is applied to an undefined value", op));
        }
    }
    if (left.isNumber() && right.isNumber()) {
        return left.isDouble() || right.isDouble()
                   ? realArithmetic(op, left.asDouble(), right.asDouble())
                   : integerArithmetic(op, left.asInteger(), right.asInteger());
    }
    if (op == "%" && left.isString()) {
        return Value(formatPercent(left.asString(), right));
    }
    const auto isSequence = [](const Value& v) { return v.isString() || v.isList(); };
    if (op == "*" && isSequence(left) && right.isInteger()) {
        return repeat(left, right.asInteger());
    }
    if (op == "*" && isSequence(right) && left.isInteger()) {
        return repeat(right, left.asInteger());
    }
    if (op == "+") {
        return addSequences(left, right);
    }
    refuse(op, left, right);
}

Value applyUnary(const std::string& op, const Value& operand) {
    if (op == "not") {
        return Value(!operand.truthy());
    }
    if (!operand.isNumber()) {
        throw TemplateError(fmt::format("'{}' does not work on {}", op, operand.typeName()));
    }
    if (operand.isDouble()) {
        return Value(op == "-" ? -operand.asDouble() : operand.asDouble());
    }
    return integerArithmetic(op == "-" ? "-" : "+", 0, operand.asInteger());
}

int order(const Value& left, const Value& right) {
    if (left.isNumber() && right.isNumber()) {
        const double difference = left.asDouble() - right.asDouble();
        return difference < 0 ? -1 : difference > 0 ? 1 : 0;
    }
    if (left.isString() && right.isString()) {
        return left.asString().compare(right.asString()); // UTF-8 keeps the order of code points
    }
    if (left.isList() && right.isList()) {
        const std::size_t common = std::min(left.asList().size(), right.asList().size());
        for (std::size_t i = 0; i < common; ++i) {
            if (!left.asList()[i].equals(right.asList()[i])) {
                return order(left.asList()[i], right.asList()[i]);
            }
        }
        return static_cast<int>(left.asList().size() > common) -
               static_cast<int>(right.asList().size() > common);
    }
    throw TemplateError(fmt::format("{} and {} have no order", left.typeName(), right.typeName()));
}

bool compare(const std::string& op, const Value& left, const Value& right) {
    if (op == "==" || op == "!=") {
        return left.equals(right) == (op == "==");
    }
    if (op == "in" || op == "not in") {
        return contains(right, left) == (op == "in");
    }
    const int result = order(left, right);
    if (op == "<") {
        return result < 0;
    }
    if (op == ">") {
        return result > 0;
    }
    return op == "<=" ? result <= 0 : result >= 0;
}

Value item(const Value& object, const Value& key) {
    if (object.isMap() || object.isNamespace()) {
        const Value* found = object.findKey(key);
        return found != nullptr ? *found : Value(Value::Undefined{key.text()});
    }
    if ((object.isList() || object.isString()) && (key.isInteger() || key.isBool())) {
        const List elements = object.elements();
        const std::int64_t size = std::ssize(elements);
        const std::int64_t index = key.asInteger() + (key.asInteger() < 0 ? size : 0);
        return index >= 0 && index < size ? elements[static_cast<std::size_t>(index)]
                                          : Value(Value::Undefined{key.text()});
    }
    return Value(Value::Undefined{key.text()});
}

namespace {

std::int64_t bound(const Value& value, std::int64_t fallback, std::int64_t size, bool backwards) {
    if (value.isUndefined() || value.isNone()) {
        return fallback;
    }
    std::int64_t index = value.asInteger();
    index += index < 0 ? size : 0;
    return backwards ? std::clamp<std::int64_t>(index, -1, size - 1)
                     : std::clamp<std::int64_t>(index, 0, size);
}

} // namespace

Value slice(const Value& object, const Value& begin, const Value& end, const Value& step) {
    if (!object.isList() && !object.isString()) {
        throw TemplateError(fmt::format("{} cannot be sliced", object.typeName()));
    }
    const List elements = object.elements();
    const std::int64_t size = std::ssize(elements);
    const std::int64_t stride = step.isUndefined() || step.isNone() ? 1 : step.asInteger();
    if (stride == 0) {
        throw TemplateError("the step of a slice is zero");
    }
    const bool backwards = stride < 0;
    const std::int64_t from = bound(begin, backwards ? size - 1 : 0, size, backwards);
    const std::int64_t to = bound(end, backwards ? -1 : size, size, backwards);
    List picked;
    for (std::int64_t i = from; backwards ? i > to : i < to;) {
        picked.push_back(elements[static_cast<std::size_t>(i)]);
        if (__builtin_add_overflow(i, stride, &i)) {
            break;
        }
    }
    if (object.isList()) {
        return object.isTuple() ? Value::tuple(std::move(picked)) : Value(std::move(picked));
    }
    std::string text;
    for (const Value& character : picked) {
        text += character.asString();
    }
    return Value(std::move(text));
}

} // namespace ecokv::jinja
