// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/filters.h"

#include "model/jinja/characters.h"
#include "model/jinja/json_text.h"
#include "model/jinja/list_filters.h"
#include "model/jinja/template_error.h"
#include "model/jinja/text_filters.h"

#include <charconv>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace ecokv::jinja {

namespace {

Value filterJoin(const Value& input, const Arguments& arguments) {
    const std::string separator = arguments.get(0, "d").text();
    const Value& attribute = arguments.get(1, "attribute");
    std::string text;
    bool first = true;
    for (const Value& element : input.elements()) {
        text += first ? "" : separator;
        first = false;
        text += (attribute.isUndefined() ? element : attributePath(element, attribute)).text();
    }
    return Value(std::move(text));
}

Value filterDefault(const Value& input, const Arguments& arguments) {
    const bool falsyToo = arguments.get(1, "boolean").truthy();
    if (!input.isUndefined() && (!falsyToo || input.truthy())) {
        return input;
    }
    return arguments.has(0, "default_value") ? arguments.get(0, "default_value") : Value("");
}

Value filterToJson(const Value& input, const Arguments& arguments) {
    JsonStyle style;
    const Value& indent = arguments.get(1, "indent");
    if (indent.isInteger()) {
        style.indent = std::string(
            static_cast<std::size_t>(std::clamp<std::int64_t>(indent.asInteger(), 0, 100)), ' ');
    } else if (indent.isString()) {
        style.indent = indent.asString();
    }
    style.itemSeparator = style.indent ? "," : ", ";
    const Value& separators = arguments.get(2, "separators");
    if (separators.isList() && separators.asList().size() == 2) {
        style.itemSeparator = separators.asList()[0].asString();
        style.keySeparator = separators.asList()[1].asString();
    }
    style.asciiOnly = arguments.get(0, "ensure_ascii").truthy();
    style.sortKeys = arguments.get(3, "sort_keys").truthy();
    return Value(toJson(input, style));
}

Value filterInt(const Value& input, const Arguments& arguments) {
    if (input.isDouble() && std::abs(input.asDouble()) < 9e18) {
        return Value(static_cast<std::int64_t>(input.asDouble()));
    }
    if (input.isNumber()) {
        return Value(input.asInteger());
    }
    const std::string text = strip(input.text(), {});
    const char* end = text.data() + text.size();
    const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
    const int base =
        arguments.has(1, "base") ? static_cast<int>(arguments.get(1, "base").asInteger()) : 10;
    if (base < 2 || base > 36) {
        throw TemplateError("the base of 'int' is not between 2 and 36");
    }
    std::int64_t number = 0;
    if (const auto [rest, error] = std::from_chars(begin, end, number, base);
        error == std::errc() && rest == end && begin != end) {
        return Value(number);
    }
    double real = 0;
    if (const auto [rest, error] = std::from_chars(begin, end, real);
        error == std::errc() && rest == end && std::abs(real) < 9e18) {
        return Value(static_cast<std::int64_t>(real));
    }
    return arguments.has(0, "default") ? arguments.get(0, "default") : Value(std::int64_t{0});
}

Value filterFloat(const Value& input, const Arguments& arguments) {
    if (input.isNumber()) {
        return Value(input.asDouble());
    }
    const std::string text = strip(input.text(), {});
    const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
    double number = 0;
    const auto [rest, error] = std::from_chars(begin, text.data() + text.size(), number);
    if (error == std::errc() && rest == text.data() + text.size()) {
        return Value(number);
    }
    return arguments.has(0, "default") ? arguments.get(0, "default") : Value(0.0);
}

Value filterRound(const Value& input, const Arguments& arguments) {
    const Value& precision = arguments.get(0, "precision");
    const auto digits =
        std::clamp<std::int64_t>(precision.isUndefined() ? 0 : precision.asInteger(), -300, 300);
    const std::string method =
        arguments.has(1, "method") ? arguments.get(1, "method").asString() : "common";
    const double scale = std::pow(10.0, static_cast<double>(digits));
    const double scaled = input.asDouble() * scale;
    if (method == "floor" || method == "ceil") {
        return Value((method == "floor" ? std::floor(scaled) : std::ceil(scaled)) / scale);
    }
    if (!input.isDouble()) { // round() leaves integers what they are
        return digits >= 0 ? input
                           : Value(static_cast<std::int64_t>(std::nearbyint(scaled) / scale));
    }
    if (digits < 0 || !std::isfinite(input.asDouble())) {
        return Value(std::nearbyint(scaled) / scale);
    }
    // through decimal digits, as Python does: 2.675 is a little less than it looks
    const std::string text = fmt::format("{:.{}f}", input.asDouble(), digits);
    double rounded = 0;
    std::from_chars(text.data(), text.data() + text.size(), rounded);
    return Value(rounded);
}

Value filterAbs(const Value& input, const Arguments& /*arguments*/) {
    return input.isDouble() ? Value(std::abs(input.asDouble()))
                            : Value(std::abs(input.asInteger()));
}

using Filter = Value (*)(const Value&, const Arguments&);

Value filterLength(const Value& input, const Arguments& /*arguments*/) {
    return Value(input.length());
}

Value filterString(const Value& input, const Arguments& /*arguments*/) {
    return Value(input.text());
}

const std::map<std::string, Filter, std::less<>>& valueFilters() {
    static const std::map<std::string, Filter, std::less<>> kFilters{
        {"join", filterJoin},     {"default", filterDefault}, {"d", filterDefault},
        {"tojson", filterToJson}, {"int", filterInt},         {"float", filterFloat},
        {"round", filterRound},   {"abs", filterAbs},         {"length", filterLength},
        {"count", filterLength},  {"string", filterString},
    };
    return kFilters;
}

} // namespace

bool isFilter(const std::string& name) {
    return valueFilters().contains(name) || isTextFilter(name) || isListFilter(name);
}

Value applyFilter(const std::string& name, const Value& input, const Arguments& arguments) {
    const auto found = valueFilters().find(name);
    if (found != valueFilters().end()) {
        return found->second(input, arguments);
    }
    if (auto result = applyTextFilter(name, input, arguments)) {
        return *std::move(result);
    }
    if (auto result = applyListFilter(name, input, arguments)) {
        return *std::move(result);
    }
    throw TemplateError(fmt::format("the filter '{}' is not supported", name));
}

} // namespace ecokv::jinja
