// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/methods.h"

#include "model/jinja/characters.h"
#include "model/jinja/list_filters.h"
#include "model/jinja/template_error.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace ecokv::jinja {

namespace {

using Method = Value (*)(const Value&, const Arguments&);
using Methods = std::map<std::string, Method, std::less<>>;

Value stripSides(const Value& self, const Arguments& arguments, StripSides sides) {
    const Value& set = arguments.get(0, "chars");
    if (set.isUndefined() || set.isNone()) {
        return Value(strip(self.asString(), sides));
    }
    return Value(strip(self.asString(), sides, &set.asString()));
}

/// str.split() without a separator: runs of white space, none at the ends.
List splitAtSpace(const std::string& text, std::int64_t limit) {
    List words;
    std::string rest = strip(text, {.left = true, .right = false});
    while (!rest.empty() && (limit < 0 || std::ssize(words) < limit)) {
        std::string word;
        for (const std::string& character : splitCharacters(rest)) {
            if (strip(character, {}).empty()) {
                break;
            }
            word += character;
        }
        rest = strip(rest.substr(word.size()), {.left = true, .right = false});
        words.emplace_back(std::move(word));
    }
    if (!rest.empty()) {
        words.emplace_back(strip(rest, {.left = false, .right = true}));
    }
    return words;
}

List splitAt(const std::string& text, const std::string& separator, std::int64_t limit) {
    List parts;
    std::size_t begin = 0;
    while (limit < 0 || std::ssize(parts) < limit) {
        const std::size_t at = text.find(separator, begin);
        if (at == std::string::npos) {
            break;
        }
        parts.emplace_back(text.substr(begin, at - begin));
        begin = at + separator.size();
    }
    parts.emplace_back(text.substr(begin));
    return parts;
}

List splitAtFromRight(const std::string& text, const std::string& separator, std::int64_t limit) {
    List parts;
    std::size_t end = text.size();
    while (limit < 0 || std::ssize(parts) < limit) {
        const std::size_t at = end < separator.size()
                                   ? std::string::npos
                                   : text.rfind(separator, end - separator.size());
        if (at == std::string::npos) {
            break;
        }
        parts.emplace_back(text.substr(at + separator.size(), end - at - separator.size()));
        end = at;
    }
    parts.emplace_back(text.substr(0, end));
    std::ranges::reverse(parts);
    return parts;
}

Value split(const Value& self, const Arguments& arguments, bool fromRight) {
    const Value& separator = arguments.get(0, "sep");
    const Value& limit = arguments.get(1, "maxsplit");
    const std::int64_t most = limit.isUndefined() ? -1 : limit.asInteger();
    if (separator.isUndefined() || separator.isNone()) {
        if (fromRight && most >= 0) {
            throw TemplateError("rsplit with a limit needs a separator");
        }
        return Value(splitAtSpace(self.asString(), most));
    }
    if (separator.asString().empty()) {
        throw TemplateError("the separator of split is empty");
    }
    return Value(fromRight ? splitAtFromRight(self.asString(), separator.asString(), most)
                           : splitAt(self.asString(), separator.asString(), most));
}

Value splitLines(const Value& self, const Arguments& arguments) {
    const bool keepsEnds = arguments.get(0, "keepends").truthy();
    List lines;
    std::string line;
    const std::string& text = self.asString();
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\n' && text[i] != '\r') {
            line += text[i];
            continue;
        }
        std::string end(1, text[i]);
        if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
            end += text[++i];
        }
        lines.emplace_back(keepsEnds ? line + end : line);
        line.clear();
    }
    if (!line.empty()) {
        lines.emplace_back(line);
    }
    return Value(std::move(lines));
}

/// startswith and endswith take one string or a tuple of them.
Value hasAffix(const Value& self, const Arguments& arguments, bool atStart) {
    const Value& affix = arguments.get(0, "prefix");
    const List candidates = affix.isList() ? affix.asList() : List{affix};
    return Value(std::ranges::any_of(candidates, [&](const Value& candidate) {
        return atStart ? self.asString().starts_with(candidate.asString())
                       : self.asString().ends_with(candidate.asString());
    }));
}

Value find(const Value& self, const Arguments& arguments, bool last) {
    const std::string& text = self.asString();
    const std::string& part = arguments.get(0, "sub").asString();
    const std::size_t at = last ? text.rfind(part) : text.find(part);
    return Value(at == std::string::npos ? std::int64_t{-1}
                                         : countCharacters(std::string_view(text).substr(0, at)));
}

Value countOf(const Value& self, const Arguments& arguments) {
    const std::string& part = arguments.get(0, "sub").asString();
    if (part.empty()) {
        return Value(countCharacters(self.asString()) + 1);
    }
    return Value(static_cast<std::int64_t>(splitAt(self.asString(), part, -1).size()) - 1);
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

template <bool (*accepts)(char)> Value allOf(const Value& self, const Arguments& /*arguments*/) {
    return Value(!self.asString().empty() && std::ranges::all_of(self.asString(), accepts));
}

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

template <std::string (*change)(std::string_view)>
Value changed(const Value& self, const Arguments& /*arguments*/) {
    return Value(change(self.asString()));
}

const Methods& stringMethods() {
    static const Methods kMethods{
        {"strip", [](const Value& s, const Arguments& a) { return stripSides(s, a, {}); }},
        {"lstrip",
         [](const Value& s, const Arguments& a) {
             return stripSides(s, a, {true, false});
         }},
        {"rstrip",
         [](const Value& s, const Arguments& a) {
             return stripSides(s, a, {false, true});
         }},
        {"split", [](const Value& s, const Arguments& a) { return split(s, a, false); }},
        {"rsplit", [](const Value& s, const Arguments& a) { return split(s, a, true); }},
        {"splitlines", splitLines},
        {"startswith", [](const Value& s, const Arguments& a) { return hasAffix(s, a, true); }},
        {"endswith", [](const Value& s, const Arguments& a) { return hasAffix(s, a, false); }},
        {"find", [](const Value& s, const Arguments& a) { return find(s, a, false); }},
        {"rfind", [](const Value& s, const Arguments& a) { return find(s, a, true); }},
        {"count", countOf},
        {"join", join},
        {"removeprefix",
         [](const Value& s, const Arguments& a) { return removeAffix(s, a, true); }},
        {"removesuffix",
         [](const Value& s, const Arguments& a) { return removeAffix(s, a, false); }},
        {"replace", replace},
        {"isdigit", allOf<isDigit>},
        {"upper", changed<toUpper>},
        {"lower", changed<toLower>},
        {"title", changed<toTitle>},
        {"capitalize", changed<capitalize>},
    };
    return kMethods;
}

const Methods& mapMethods() {
    static const Methods kMethods{
        {"items",
         [](const Value& s, const Arguments&) { return *applyListFilter("items", s, {}); }},
        {"keys", [](const Value& s, const Arguments&) { return Value(s.elements()); }},
        {"values",
         [](const Value& s, const Arguments&) {
             List values;
             for (const auto& [key, value] : s.asMap()) {
                 values.push_back(value);
             }
             return Value(std::move(values));
         }},
        {"get",
         [](const Value& s, const Arguments& a) {
             const Value* found = s.findKey(a.get(0, "key"));
             const bool fallback = a.has(1, "default");
             return found != nullptr ? *found
                    : fallback       ? a.get(1, "default")
                                     : Value(Value::None{});
         }},
        {"copy", [](const Value& s, const Arguments&) { return s; }},
    };
    return kMethods;
}

const Methods& listMethods() {
    static const Methods kMethods{
        {"count",
         [](const Value& s, const Arguments& a) {
             return Value(static_cast<std::int64_t>(std::ranges::count_if(
                 s.asList(), [&](const Value& e) { return e.equals(a.get(0, "value")); })));
         }},
        {"index",
         [](const Value& s, const Arguments& a) {
             const auto at = std::ranges::find_if(
                 s.asList(), [&](const Value& e) { return e.equals(a.get(0, "value")); });
             if (at == s.asList().end()) {
                 throw TemplateError("the list does not hold the value");
             }
             return Value(static_cast<std::int64_t>(at - s.asList().begin()));
         }},
        {"copy", [](const Value& s, const Arguments&) { return s; }},
    };
    return kMethods;
}

bool changesItsObject(const Value& object, const std::string& name) {
    static constexpr const char* kChanging[] = {"append", "extend",  "insert",    "pop",
                                                "remove", "sort",    "reverse",   "clear",
                                                "update", "popitem", "setdefault"};
    return !object.isString() &&
           std::ranges::any_of(kChanging, [&](const char* changing) { return name == changing; });
}

} // namespace

std::optional<Value> boundMethod(const Value& object, const std::string& name) {
    const Methods* methods = object.isString() ? &stringMethods()
                             : object.isMap()  ? &mapMethods()
                             : object.isList() ? &listMethods()
                                               : nullptr;
    if (methods == nullptr) {
        return std::nullopt;
    }
    const auto found = methods->find(name);
    if (found != methods->end()) {
        return Value(Function([object, method = found->second](const Arguments& arguments) {
            return method(object, arguments);
        }));
    }
    if (changesItsObject(object, name)) {
        return Value(Function([name](const Arguments&) -> Value {
            throw TemplateError(
                fmt::format("'{}' would change its object, which templates may not", name));
        }));
    }
    return std::nullopt;
}

} // namespace ecokv::jinja
