// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/value.h"

#include "model/jinja/characters.h"
#include "model/jinja/template_error.h"
#include "model/text/utf8.h"

#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace ecokv::jinja {

const Value& Arguments::get(std::size_t index, const std::string& name) const {
    static const Value kUndefined;
    if (index < positional.size()) {
        return positional[index];
    }
    for (const auto& [key, value] : named) {
        if (key == name) {
            return value;
        }
    }
    return kUndefined;
}

bool Arguments::has(std::size_t index, const std::string& name) const {
    return !get(index, name).isUndefined();
}

void Arguments::expectAtMost(std::size_t most) const {
    if (positional.size() > most) {
        throw TemplateError(
            fmt::format("{} arguments are given, at most {} are taken", positional.size(), most));
    }
}

Value Value::withForm(Form form) && {
    m_form = form;
    return std::move(*this);
}

Value Value::tuple(List value) {
    return Value(std::move(value)).withForm(Form::Tuple);
}

Value Value::view(List value) {
    return Value(std::move(value)).withForm(Form::View);
}

Value Value::lazy(List value) {
    return Value(std::move(value)).withForm(Form::Lazy);
}

Value Value::safe(std::string value) {
    return Value(std::move(value)).withForm(Form::Safe);
}

void assignKey(Map& map, const Value& key, const Value& value) {
    for (auto& [known, entry] : map) {
        if (known.equals(key)) {
            entry = value;
            return;
        }
    }
    map.emplace_back(key, value);
}

Value Value::fromJson(const model::Json& json) {
    switch (json.type()) {
    case model::Json::value_t::null:
        return Value(None{});
    case model::Json::value_t::boolean:
        return Value(json.get<bool>());
    case model::Json::value_t::number_integer:
    case model::Json::value_t::number_unsigned:
        return Value(json.get<std::int64_t>());
    case model::Json::value_t::number_float:
        return Value(json.get<double>());
    case model::Json::value_t::string:
        return Value(json.get<std::string>());
    case model::Json::value_t::array: {
        List list;
        for (const auto& element : json) {
            list.push_back(fromJson(element));
        }
        return Value(std::move(list));
    }
    case model::Json::value_t::object: {
        Map map;
        for (const auto& [key, element] : json.items()) {
            map.emplace_back(Value(key), fromJson(element));
        }
        return Value(std::move(map));
    }
    default:
        return Value();
    }
}

std::int64_t Value::asInteger() const {
    if (isBool()) {
        return asBool() ? 1 : 0;
    }
    if (!isInteger()) {
        throw TemplateError(fmt::format("an integer is needed, but {} is given", typeName()));
    }
    return std::get<std::int64_t>(m_data);
}

double Value::asDouble() const {
    if (isDouble()) {
        return std::get<double>(m_data);
    }
    return static_cast<double>(asInteger());
}

const std::string& Value::asString() const {
    if (!isString()) {
        throw TemplateError(fmt::format("a string is needed, but {} is given", typeName()));
    }
    return *std::get<std::shared_ptr<const std::string>>(m_data);
}

const List& Value::asList() const {
    return *std::get<std::shared_ptr<const List>>(m_data);
}

const Map& Value::asMap() const {
    return *std::get<std::shared_ptr<const Map>>(m_data);
}

const Function& Value::asFunction() const {
    return *std::get<std::shared_ptr<const Function>>(m_data);
}

bool Value::truthy() const {
    if (isUndefined() || isNone()) {
        return false;
    }
    if (isNumber()) {
        return asDouble() != 0.0;
    }
    if (isString()) {
        return !asString().empty();
    }
    if (isList()) {
        return m_form == Form::Lazy || !asList().empty();
    }
    return isMap() ? !asMap().empty() : true;
}

const char* Value::typeName() const {
    static constexpr const char* kNames[] = {
        "an undefined value", "none",   "a boolean", "an integer",  "a float",
        "a string",           "a list", "a mapping", "a namespace", "a function"};
    return kNames[m_data.index()];
}

std::string formatDouble(double value) {
    if (std::isnan(value)) {
        return "nan";
    }
    if (std::isinf(value)) {
        return value > 0 ? "inf" : "-inf";
    }
    std::string text = fmt::format("{}", value);
    if (text.find_first_of(".e") == std::string::npos) {
        text += ".0";
    }
    return text;
}

std::string Value::text() const {
    if (isString()) {
        return asString();
    }
    return isUndefined() ? std::string() : repr();
}

namespace {

std::string reprOfString(const std::string& text) {
    const bool single = text.find('\'') != std::string::npos;
    const char quote = single && text.find('"') == std::string::npos ? '"' : '\'';
    std::string result(1, quote);
    for (std::size_t i = 0; i < text.size();) {
        const model::Utf8Char c = model::utf8At(text, i);
        const std::string_view bytes = std::string_view(text).substr(i, c.length);
        i += c.length;
        if (bytes[0] == quote || bytes[0] == '\\') {
            result += '\\';
            result += bytes;
        } else if (bytes == "\n" || bytes == "\r" || bytes == "\t") {
            result += bytes == "\n" ? "\\n" : bytes == "\r" ? "\\r" : "\\t";
        } else if (isPrintable(c.codePoint)) {
            result += bytes;
        } else {
            const auto code = static_cast<std::uint32_t>(c.codePoint);
            result += code < 0x100     ? fmt::format("\\x{:02x}", code)
                      : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                                       : fmt::format("\\U{:08x}", code);
        }
    }
    return result + quote;
}

std::string reprOfMap(const Map& map) {
    std::string result = "{";
    for (const auto& [key, value] : map) {
        result += (result.size() > 1 ? ", " : "") + key.repr() + ": " + value.repr();
    }
    return result + "}";
}

} // namespace

std::string Value::repr() const {
    if (isUndefined()) {
        return "Undefined";
    }
    if (isNone()) {
        return "None";
    }
    if (isBool()) {
        return asBool() ? "True" : "False";
    }
    if (isInteger()) {
        return fmt::format("{}", asInteger());
    }
    if (isDouble()) {
        return formatDouble(asDouble());
    }
    if (isString()) {
        return reprOfString(asString());
    }
    if (isList()) {
        std::string result(1, isTuple() ? '(' : '[');
        for (const Value& element : asList()) {
            result += (result.size() > 1 ? ", " : "") + element.repr();
        }
        result += isTuple() && asList().size() == 1 ? "," : "";
        return result + (isTuple() ? ')' : ']');
    }
    if (isMap()) {
        return reprOfMap(asMap());
    }
    throw TemplateError(fmt::format("{} cannot be written as text", typeName()));
}

List Value::elements() const {
    if (isUndefined()) {
        return {};
    }
    if (isList()) {
        return asList();
    }
    if (isString()) {
        List characters;
        for (std::string& character : splitCharacters(asString())) {
            characters.emplace_back(std::move(character));
        }
        return characters;
    }
    if (isMap()) {
        List keys;
        for (const auto& [key, value] : asMap()) {
            keys.push_back(key);
        }
        return keys;
    }
    throw TemplateError(fmt::format("{} has no elements to go through", typeName()));
}

std::int64_t Value::length() const {
    if (isString()) {
        return countCharacters(asString());
    }
    if (isList()) {
        return std::ssize(asList());
    }
    if (isMap()) {
        return std::ssize(asMap());
    }
    if (isUndefined()) {
        return 0;
    }
    throw TemplateError(fmt::format("{} has no length", typeName()));
}

const Value* Value::findKey(const Value& key) const {
    for (const auto& [candidate, value] : isNamespace() ? asNamespace() : asMap()) {
        if (candidate.equals(key)) {
            return &value;
        }
    }
    return nullptr;
}

namespace {

bool equalLists(const List& a, const List& b) {
    if (a.size() != b.size()) {
        return false;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!a[i].equals(b[i])) {
            return false;
        }
    }
    return true;
}

bool equalMaps(const Value& a, const Value& b) {
    if (a.asMap().size() != b.asMap().size()) {
        return false;
    }
    for (const auto& [key, value] : a.asMap()) {
        const Value* other = b.findKey(key);
        if (other == nullptr || !other->equals(value)) {
            return false;
        }
    }
    return true;
}

} // namespace

bool Value::equals(const Value& other) const {
    if (isNumber() && other.isNumber()) {
        return isDouble() || other.isDouble() ? asDouble() == other.asDouble()
                                              : asInteger() == other.asInteger();
    }
    if (isString() && other.isString()) {
        return asString() == other.asString();
    }
    if (isList() && other.isList()) {
        return isTuple() == other.isTuple() && equalLists(asList(), other.asList());
    }
    if (isMap() && other.isMap()) {
        return equalMaps(*this, other);
    }
    return (isNone() && other.isNone()) || (isUndefined() && other.isUndefined());
}

} // namespace ecokv::jinja
