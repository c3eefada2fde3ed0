// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/string_methods.h"

#include "model/jinja/characters.h"
#include "model/jinja/operators.h"
#include "model/jinja/string_format.h"
#include "model/jinja/string_split.h"
#include "model/jinja/template_error.h"
#include "model/text/utf8.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace ecokv::jinja {

namespace {

Value stripSides(const Value& self, const Arguments& arguments, StripSides sides) {
    const Value& set = arguments.get(0, "chars");
    if (set.isUndefined() || set.isNone()) {
        return Value(strip(self.asString(), sides));
    }
    return Value(strip(self.asString(), sides, &set.asString()));
}

Value split(const Value& self, const Arguments& arguments, bool fromRight) {
    const Value& separator = arguments.get(0, "sep");
    const Value& limit = arguments.get(1, "maxsplit");
    const std::int64_t most = limit.isUndefined() ? -1 : limit.asInteger();
    if (separator.isUndefined() || separator.isNone()) {
        return Value(fromRight ? splitAtSpaceFromRight(self.asString(), most)
                               : splitAtSpace(self.asString(), most));
    }
    if (separator.asString().empty()) {
        throw TemplateError("the separator of split is empty");
    }
    return Value(fromRight ? splitAtFromRight(self.asString(), separator.asString(), most)
                           : splitAt(self.asString(), separator.asString(), most));
}

Value splitLines(const Value& self, const Arguments& arguments) {
    return Value(splitIntoLines(self.asString(), arguments.get(0, "keepends").truthy()));
}

/// The part of a text that `start` and `end` of a call name.
struct Window {
    std::string text;
    std::int64_t begin = 0; ///< in characters
};

Window windowOf(const Value& self, const Arguments& arguments) {
    const Value& begin = arguments.get(1, "start");
    const Value& end = arguments.get(2, "end");
    if (begin.isUndefined() && end.isUndefined()) {
        return {self.asString(), 0};
    }
    const Value part = slice(self, begin, end, Value());
    const std::int64_t length = countCharacters(self.asString());
    const std::int64_t first = begin.isInteger() ? begin.asInteger() : 0;
    return {part.asString(),
            std::clamp<std::int64_t>(first < 0 ? first + length : first, 0, length)};
}

/// startswith and endswith take one string or a tuple of them.
Value hasAffix(const Value& self, const Arguments& arguments, bool atStart) {
    const Value& affix = arguments.get(0, "prefix");
    const List candidates = affix.isList() ? affix.asList() : List{affix};
    const std::string text = windowOf(self, arguments).text;
    return Value(std::ranges::any_of(candidates, [&](const Value& candidate) {
        return atStart ? text.starts_with(candidate.asString())
                       : text.ends_with(candidate.asString());
    }));
}

Value find(const Value& self, const Arguments& arguments, bool last) {
    const Window window = windowOf(self, arguments);
    const std::string_view text = window.text;
    const std::string& part = arguments.get(0, "sub").asString();
    const std::size_t at = last ? text.rfind(part) : text.find(part);
    return Value(at == std::string::npos ? std::int64_t{-1}
                                         : window.begin + countCharacters(text.substr(0, at)));
}

Value indexOf(const Value& self, const Arguments& arguments, bool last) {
    Value found = find(self, arguments, last);
    if (found.asInteger() < 0) {
        throw TemplateError(
            fmt::format("the text does not hold '{}'", arguments.get(0, "sub").asString()));
    }
    return found;
}

/// The text before, the separator and the text behind it.
Value partition(const Value& self, const Arguments& arguments, bool last) {
    const std::string& text = self.asString();
    const std::string& separator = arguments.get(0, "sep").asString();
    if (separator.empty()) {
        throw TemplateError("the separator of partition is empty");
    }
    const std::size_t at = last ? text.rfind(separator) : text.find(separator);
    if (at == std::string::npos) {
        return last ? Value::tuple({Value(""), Value(""), self})
                    : Value::tuple({self, Value(""), Value("")});
    }
    return Value::tuple(
        {Value(text.substr(0, at)), Value(separator), Value(text.substr(at + separator.size()))});
}

Value countOf(const Value& self, const Arguments& arguments) {
    const std::string& part = arguments.get(0, "sub").asString();
    const std::string text = windowOf(self, arguments).text;
    if (part.empty()) {
        return Value(countCharacters(text) + 1);
    }
    return Value(static_cast<std::int64_t>(splitAt(text, part, -1).size()) - 1);
}

Value join(const Value& self, const Arguments& arguments) {
    std::string text;
    bool first = true;
    for (const Value& element : arguments.get(0, "iterable").elements()) {
        text += first ? "" : self.asString();
        first = false;
        text += element.asString();
    }
    return Value(std::move(text));
}

Value removeAffix(const Value& self, const Arguments& arguments, bool atStart) {
    const std::string& text = self.asString();
    const std::string& affix = arguments.get(0, "prefix").asString();
    if (atStart ? !text.starts_with(affix) : !text.ends_with(affix)) {
        return self;
    }
    return Value(atStart ? text.substr(affix.size()) : text.substr(0, text.size() - affix.size()));
}

Value replace(const Value& self, const Arguments& arguments) {
    const Value& limit = arguments.get(2, "count");
    return Value(replaceAll(self.asString(), arguments.get(0, "old").asString(),
                            arguments.get(1, "new").asString(),
                            limit.isUndefined() ? -1 : limit.asInteger()));
}

/// Every character is of the kind, and there is one.
template <bool (*accepts)(char32_t)>
Value allOf(const Value& self, const Arguments& /*arguments*/) {
    const std::string& text = self.asString();
    bool all = !text.empty();
    for (std::size_t i = 0; i < text.size() && all;) {
        const model::Utf8Char c = model::utf8At(text, i);
        all = accepts(c.codePoint);
        i += c.length;
    }
    return Value(all);
}

bool isAlphanumeric(char32_t c) {
    return isLetter(c) || isDigit(c);
}

/// isupper and islower ask of the letters that have a case.
template <std::string (*wanted)(std::string_view), std::string (*other)(std::string_view)>
Value hasCase(const Value& self, const Arguments& /*arguments*/) {
    const std::string& text = self.asString();
    return Value(wanted(text) == text && other(text) != text);
}

Value isTitle(const Value& self, const Arguments& /*arguments*/) {
    const std::string& text = self.asString();
    return Value(toTitle(text) == text && toUpper(text) != toLower(text));
}

/// ljust and rjust; zfill fills behind the sign.
Value justify(const Value& self, const Arguments& arguments, bool textAtLeft) {
    const Value& fill = arguments.get(1, "fillchar");
    const std::string padding =
        repeatText(fill.isUndefined() ? " " : fill.asString(),
                   arguments.get(0, "width").asInteger() - countCharacters(self.asString()));
    return Value(textAtLeft ? self.asString() + padding : padding + self.asString());
}

Value fillWithZeros(const Value& self, const Arguments& arguments) {
    const std::string& text = self.asString();
    const bool sign = text.starts_with('-') || text.starts_with('+');
    const std::string zeros =
        repeatText("0", arguments.get(0, "width").asInteger() - countCharacters(text));
    return Value(text.substr(0, sign ? 1 : 0) + zeros + text.substr(sign ? 1 : 0));
}

Value center(const Value& self, const Arguments& arguments) {
    const Value& fill = arguments.get(1, "fillchar");
    return Value(centerText(self.asString(), arguments.get(0, "width").asInteger(),
                            fill.isUndefined() ? " " : fill.asString()));
}

Value expandTabs(const Value& self, const Arguments& arguments) {
    const Value& size = arguments.get(0, "tabsize");
    const std::int64_t width = size.isUndefined() ? 8 : size.asInteger();
    std::string text;
    std::int64_t column = 0;
    for (const std::string& character : splitCharacters(self.asString())) {
        if (character == "\t") {
            const std::int64_t blanks = width > 0 ? width - column % width : 0;
            text += repeatText(" ", blanks);
            column += blanks;
        } else {
            text += character;
            column = character == "\n" || character == "\r" ? 0 : column + 1;
        }
    }
    return Value(std::move(text));
}

template <std::string (*change)(std::string_view)>
Value changed(const Value& self, const Arguments& /*arguments*/) {
    return Value(change(self.asString()));
}

Value format(const Value& self, const Arguments& arguments) {
    return Value(formatBraces(self.asString(), arguments));
}

/// A method that is one function at one of two settings.
template <Value (*work)(const Value&, const Arguments&, bool), bool setting>
Value with(const Value& self, const Arguments& arguments) {
    return work(self, arguments, setting);
}

template <bool left, bool right> Value stripped(const Value& self, const Arguments& arguments) {
    return stripSides(self, arguments, {left, right});
}

const std::map<std::string, Method, std::less<>>& stringMethods() {
    static const std::map<std::string, Method, std::less<>> kMethods{
        {"strip", stripped<true, true>},
        {"lstrip", stripped<true, false>},
        {"rstrip", stripped<false, true>},
        {"split", with<split, false>},
        {"rsplit", with<split, true>},
        {"splitlines", splitLines},
        {"partition", with<partition, false>},
        {"rpartition", with<partition, true>},
        {"startswith", with<hasAffix, true>},
        {"endswith", with<hasAffix, false>},
        {"find", with<find, false>},
        {"rfind", with<find, true>},
        {"index", with<indexOf, false>},
        {"rindex", with<indexOf, true>},
        {"count", countOf},
        {"join", join},
        {"removeprefix", with<removeAffix, true>},
        {"removesuffix", with<removeAffix, false>},
        {"replace", replace},
        {"format", format},
        {"ljust", with<justify, true>},
        {"rjust", with<justify, false>},
        {"center", center},
        {"zfill", fillWithZeros},
        {"expandtabs", expandTabs},
        {"isdigit", allOf<isDigit>},
        {"isdecimal", allOf<isDigit>},
        {"isnumeric", allOf<isDigit>},
        {"isalpha", allOf<isLetter>},
        {"isalnum", allOf<isAlphanumeric>},
        {"isspace", allOf<isSpace>},
        {"isupper", hasCase<toUpper, toLower>},
        {"islower", hasCase<toLower, toUpper>},
        {"istitle", isTitle},
        {"upper", changed<toUpper>},
        {"lower", changed<toLower>},
        {"casefold", changed<toLower>},
        {"swapcase", changed<swapCase>},
        {"title", changed<toTitle>},
        {"capitalize", changed<capitalize>},
    };
    return kMethods;
}

} // namespace

Method stringMethod(const std::string& name) {
    const auto found = stringMethods().find(name);
    return found == stringMethods().end() ? nullptr : found->second;
}

} // namespace ecokv::jinja
