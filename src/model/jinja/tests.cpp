// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/tests.h"

#include "model/jinja/characters.h"
#include "model/jinja/filters.h"
#include "model/jinja/operators.h"
#include "model/jinja/template_error.h"

#include <map>

#include <fmt/format.h>

namespace ecokv::jinja {

namespace {

using TypeTest = bool (*)(const Value&);

const std::map<std::string, TypeTest, std::less<>>& typeTests() {
    static const std::map<std::string, TypeTest, std::less<>> kTests{
        {"defined", [](const Value& v) { return !v.isUndefined(); }},
        {"undefined", [](const Value& v) { return v.isUndefined(); }},
        {"none", [](const Value& v) { return v.isNone(); }},
        {"string", [](const Value& v) { return v.isString(); }},
        {"mapping", [](const Value& v) { return v.isMap(); }},
        {"number", [](const Value& v) { return v.isNumber(); }},
        {"integer", [](const Value& v) { return v.isInteger(); }},
        {"float", [](const Value& v) { return v.isDouble(); }},
        {"boolean", [](const Value& v) { return v.isBool(); }},
        {"true", [](const Value& v) { return v.isBool() && v.asBool(); }},
        {"false", [](const Value& v) { return v.isBool() && !v.asBool(); }},
        {"callable", [](const Value& v) { return v.isFunction(); }},
        {"iterable",
         [](const Value& v) { return v.isList() || v.isMap() || v.isString() || v.isUndefined(); }},
        {"sequence", // Python asks for a length and an index, which mappings have too
         [](const Value& v) {
             return v.isSequence() || v.isMap() || v.isString() || v.isUndefined();
         }},
        {"filter", [](const Value& v) { return v.isString() && isFilter(v.asString()); }},
        {"odd", [](const Value& v) { return v.asInteger() % 2 != 0; }},
        {"even", [](const Value& v) { return v.asInteger() % 2 == 0; }},
        {"lower",
         [](const Value& v) {
             return toLower(v.text()) == v.text() && toUpper(v.text()) != v.text();
         }},
        {"upper",
         [](const Value& v) {
             return toUpper(v.text()) == v.text() && toLower(v.text()) != v.text();
         }},
    };
    return kTests;
}

const std::map<std::string, const char*, std::less<>>& comparisonTests() {
    static const std::map<std::string, const char*, std::less<>> kTests{
        {"eq", "=="}, {"equalto", "=="},    {"==", "=="},      {"ne", "!="},
        {"!=", "!="}, {"lt", "<"},          {"lessthan", "<"}, {"<", "<"},
        {"gt", ">"},  {"greaterthan", ">"}, {">", ">"},        {"le", "<="},
        {"<=", "<="}, {"ge", ">="},         {">=", ">="},      {"in", "in"},
    };
    return kTests;
}

bool isSame(const Value& a, const Value& b) {
    const bool sameType = a.isBool() == b.isBool() && a.isDouble() == b.isDouble();
    return sameType && a.equals(b);
}

const Value& operand(const std::string& name, const Arguments& arguments) {
    if (arguments.positional.empty()) {
        throw TemplateError(fmt::format("the test '{}' needs a value to compare with", name));
    }
    return arguments.positional.front();
}

} // namespace

bool applyTest(const std::string& name, const Value& input, const Arguments& arguments) {
    if (const auto found = typeTests().find(name); found != typeTests().end()) {
        return found->second(input);
    }
    if (const auto found = comparisonTests().find(name); found != comparisonTests().end()) {
        return compare(found->second, input, operand(name, arguments));
    }
    if (name == "sameas") {
        return isSame(input, operand(name, arguments));
    }
    if (name == "divisibleby") {
        return !applyBinary("%", input, operand(name, arguments)).truthy();
    }
    throw TemplateError(fmt::format("the test '{}' is not supported", name));
}

} // namespace ecokv::jinja
