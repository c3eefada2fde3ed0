// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/text_filters.h"

#include "model/jinja/characters.h"
#include "model/jinja/string_format.h"
#include "model/jinja/string_split.h"
#include "model/jinja/template_error.h"
#include "model/text/utf8.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace ecokv::jinja {

std::string escapeHtml(std::string_view source) {
    std::string text;
    for (const char c : source) {
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
    return text;
}

namespace {

Value filterTrim(const Value& input, const Arguments& arguments) {
    const Value& set = arguments.get(0, "chars");
    const bool given = !set.isUndefined() && !set.isNone();
    const std::string characters = given ? set.asString() : std::string();
    return Value(strip(input.text(), {}, given ? &characters : nullptr));
}

Value filterReplace(const Value& input, const Arguments& arguments) {
    const Value& limit = arguments.get(2, "count");
    const bool limited = !limit.isUndefined() && !limit.isNone();
    return Value(replaceAll(input.text(), arguments.get(0, "old").text(),
                            arguments.get(1, "new").text(), limited ? limit.asInteger() : -1));
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
    return input.isSafe() ? input : Value::safe(escapeHtml(input.text()));
}

Value filterForceEscape(const Value& input, const Arguments& /*arguments*/) {
    return Value::safe(escapeHtml(input.text()));
}

Value filterSafe(const Value& input, const Arguments& /*arguments*/) {
    return Value::safe(input.text());
}

/// Unlike str.title(), it leaves "dog's" one word.
Value filterTitle(const Value& input, const Arguments& /*arguments*/) {
    static constexpr std::string_view kBefore = "-({[<";
    std::string text;
    bool inside = false;
    for (const std::string& character : splitCharacters(input.text())) {
        const bool parts =
            strip(character, {}).empty() || kBefore.find(character) != std::string_view::npos;
        text += parts ? character : inside ? toLower(character) : toUpper(character);
        inside = !parts;
    }
    return Value(std::move(text));
}

bool isWordCharacter(const std::string& character) {
    const char32_t c = model::utf8At(character, 0).codePoint;
    return isLetter(c) || isDigit(c) || c == U'_';
}

/// Words as the regular expression \w+ finds them.
Value filterWordCount(const Value& input, const Arguments& /*arguments*/) {
    std::int64_t count = 0;
    bool inside = false;
    for (const std::string& character : splitCharacters(input.text())) {
        const bool word = isWordCharacter(character);
        count += word && !inside ? 1 : 0;
        inside = word;
    }
    return Value(count);
}

Value filterCenter(const Value& input, const Arguments& arguments) {
    const Value& width = arguments.get(0, "width");
    return Value(centerText(input.text(), width.isUndefined() ? 80 : width.asInteger(), " "));
}

Value filterTruncate(const Value& input, const Arguments& arguments) {
    const auto number = [&](std::size_t at, const char* name, std::int64_t fallback) {
        const Value& value = arguments.get(at, name);
        return value.isUndefined() || value.isNone() ? fallback : value.asInteger();
    };
    const std::int64_t length = number(0, "length", 255);
    const std::string end = arguments.has(2, "end") ? arguments.get(2, "end").asString() : "...";
    const auto characters = splitCharacters(input.text());
    if (std::ssize(characters) <= length + number(3, "leeway", 5)) {
        return Value(input.text());
    }
    if (length < countCharacters(end)) {
        throw TemplateError("'truncate' leaves no room for its end");
    }
    std::string text;
    for (std::int64_t i = 0; i < length - countCharacters(end); ++i) {
        text += characters[static_cast<std::size_t>(i)];
    }
    if (!arguments.get(1, "killwords").truthy()) {
        text = splitAtFromRight(text, " ", 1).front().asString();
    }
    return Value(text + end);
}

Value filterFormat(const Value& input, const Arguments& arguments) {
    if (arguments.named.empty()) {
        return Value(formatPercent(input.text(), Value::tuple(arguments.positional)));
    }
    Map named;
    for (const auto& [name, value] : arguments.named) {
        assignKey(named, Value(name), value);
    }
    return Value(formatPercent(input.text(), Value(std::move(named))));
}

Value filterUrlEncode(const Value& input, const Arguments& /*arguments*/) {
    std::string text;
    for (const char c : input.text()) {
        const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                           (c >= 'A' && c <= 'Z') ||
                           std::string_view("_.-~/").find(c) != std::string_view::npos;
        text += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return Value(std::move(text));
}

/// A filter that only changes the text.
template <std::string (*change)(std::string_view)>
Value textFilter(const Value& input, const Arguments& /*arguments*/) {
    return Value(change(input.text()));
}

using Filter = Value (*)(const Value&, const Arguments&);

const std::map<std::string, Filter, std::less<>>& textFilters() {
    static const std::map<std::string, Filter, std::less<>> kFilters{
        {"trim", filterTrim},
        {"replace", filterReplace},
        {"indent", filterIndent},
        {"escape", filterEscape},
        {"e", filterEscape},
        {"forceescape", filterForceEscape},
        {"safe", filterSafe},
        {"title", filterTitle},
        {"wordcount", filterWordCount},
        {"center", filterCenter},
        {"truncate", filterTruncate},
        {"format", filterFormat},
        {"urlencode", filterUrlEncode},
        {"upper", textFilter<toUpper>},
        {"lower", textFilter<toLower>},
        {"capitalize", textFilter<capitalize>},
    };
    return kFilters;
}

} // namespace

bool isTextFilter(const std::string& name) {
    return textFilters().contains(name);
}

std::optional<Value> applyTextFilter(const std::string& name, const Value& input,
                                     const Arguments& arguments) {
    const auto found = textFilters().find(name);
    return found == textFilters().end() ? std::nullopt
                                        : std::optional(found->second(input, arguments));
}

} // namespace ecokv::jinja
