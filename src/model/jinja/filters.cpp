// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/filters.h"

#include "model/jinja/characters.h"
#include "model/jinja/json_text.h"
#include "model/jinja/list_filters.h"
#include "model/jinja/template_error.h"

#include <charconv>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace ecokv::jinja {

namespace {

Value filterTrim(const Value& input, const Arguments& arguments) {
    const Value& set = arguments.get(0, "chars");
    const bool given = !set.isUndefined() && !set.isNone();
    const std::string characters = given ? set.asString() : std::string();
    return Value(strip(input.text(), {}, given ? &characters : nullptr));
}

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

Value filterReplace(const Value& input, const Arguments& arguments) {
    const Value& limit = arguments.get(2, "count");
    const bool limited = !limit.isUndefined() && !limit.isNone();
    return Value(replaceAll(input.text(), arguments.get(0, "old").text(),
                            arguments.get(1, "new").text(), limited ? limit.asInteger() : -1));
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
    std::int64_t number = 0;
    if (const auto [rest, error] = std::from_chars(begin, end, number);
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
    const auto digits = precision.isUndefined() ? 0 : precision.asInteger();
    const std::string method =
        arguments.has(1, "method") ? arguments.get(1, "method").asString() : "common";
    const double scale = std::pow(10.0, static_cast<double>(digits));
    const double scaled = input.asDouble() * scale;
    if (method == "floor") {
        return Value(std::floor(scaled) / scale);
    }
    return Value((method == "ceil" ? std::ceil(scaled) : std::nearbyint(scaled)) / scale);
}

Value filterAbs(const Value& input, const Arguments& /*arguments*/) {
    return input.isDouble() ? Value(std::abs(input.asDouble()))
                            : Value(std::abs(input.asInteger()));
}

Value filterIndent(const Value& input, const Arguments& arguments) {
    const Value& width = arguments.get(0, "width");
    const std::string margin =
        width.isString()
            ? width.asString()
            : std::string(width.isUndefined() ? 4
                                              : static_cast<std::size_t>(std::clamp<std::int64_t>(
                                                    width.asInteger(), 0, 1000)),
                          ' ');
    const bool first = arguments.get(1, "first").truthy();
    const bool blank = arguments.get(2, "blank").truthy();
    const std::string text = input.text();
    std::string result = first ? margin : "";
    for (std::size_t i = 0; i < text.size(); ++i) {
        result += text[i];
        const bool lineEnds = text[i] == '\n';
        const bool emptyNext = i + 1 >= text.size() || text[i + 1] == '\n';
        result += lineEnds && (blank || !emptyNext) ? margin : "";
    }
    return Value(std::move(result));
}

Value filterEscape(const Value& input, const Arguments& /*arguments*/) {
    std::string text;
    for (const char c : input.text()) {
        switch (c) {
        case '&':
            text += "&amp;";
            break;
        case '<':
            text += "&lt;";
            break;
        case '>':
            text += "&gt;";
            break;
        case '\'':
            text += "&#39;";
            break;
        case '"':
            text += "&#34;";
            break;
        default:
            text += c;
        }
    }
    return Value(std::move(text));
}

using Filter = Value (*)(const Value&, const Arguments&);

/// A filter that only changes the text.
template <std::string (*change)(std::string_view)>
Value textFilter(const Value& input, const Arguments& /*arguments*/) {
    return Value(change(input.text()));
}

Value filterLength(const Value& input, const Arguments& /*arguments*/) {
    return Value(input.length());
}

Value filterString(const Value& input, const Arguments& /*arguments*/) {
    return Value(input.text());
}

const std::map<std::string, Filter, std::less<>>& textAndNumberFilters() {
    static const std::map<std::string, Filter, std::less<>> kFilters{
        {"trim", filterTrim},
        {"join", filterJoin},
        {"default", filterDefault},
        {"d", filterDefault},
        {"replace", filterReplace},
        {"tojson", filterToJson},
        {"int", filterInt},
        {"float", filterFloat},
        {"round", filterRound},
        {"abs", filterAbs},
        {"indent", filterIndent},
        {"escape", filterEscape},
        {"e", filterEscape},
        {"length", filterLength},
        {"count", filterLength},
        {"string", filterString},
        {"safe", filterString},
        {"upper", textFilter<toUpper>},
        {"lower", textFilter<toLower>},
        {"title", textFilter<toTitle>},
        {"capitalize", textFilter<capitalize>},
    };
    return kFilters;
}

} // namespace

Value applyFilter(const std::string& name, const Value& input, const Arguments& arguments) {
    const auto found = textAndNumberFilters().find(name);
    if (found != textAndNumberFilters().end()) {
        return found->second(input, arguments);
    }
    if (auto result = applyListFilter(name, input, arguments)) {
        return *std::move(result);
    }
    throw TemplateError(fmt::format("the filter '{}' is not supported", name));
}

} // namespace ecokv::jinja
