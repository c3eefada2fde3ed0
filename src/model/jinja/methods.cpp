// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/methods.h"

#include "model/jinja/list_filters.h"
#include "model/jinja/string_methods.h"
#include "model/jinja/template_error.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace ecokv::jinja {

namespace {

using Methods = std::map<std::string, Method, std::less<>>;

const Methods& mapMethods() {
    static const Methods kMethods{
        {"items",
         [](const Value& s, const Arguments&) {
             return Value::view(applyListFilter("items", s, {})->asList());
         }},
        {"keys", [](const Value& s, const Arguments&) { return Value::view(s.elements()); }},
        {"values",
         [](const Value& s, const Arguments&) {
             List values;
             for (const auto& [key, value] : s.asMap()) {
                 values.push_back(value);
             }
             return Value::view(std::move(values));
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

Method methodOf(const Value& object, const std::string& name) {
    if (object.isString()) {
        return stringMethod(name);
    }
    if (!object.isMap() && !object.isList()) {
        return nullptr;
    }
    const Methods& methods = object.isMap() ? mapMethods() : listMethods();
    const auto found = methods.find(name);
    return found == methods.end() ? nullptr : found->second;
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
    const Method method = methodOf(object, name);
    if (method != nullptr) {
        return Value(Function(
            [object, method](const Arguments& arguments) { return method(object, arguments); }));
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
