#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Values of a template: what Python objects are to Jinja. Copies are cheap; lists and maps are
// shared and never change, except for namespaces, which templates assign to.

#include "model/json_file.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ecokv::jinja {

class Value;
using List = std::vector<Value>;
using Map = std::vector<std::pair<Value, Value>>; ///< in order of insertion

/// Arguments of a call, a filter or a test.
struct Arguments {
    List positional;
    std::vector<std::pair<std::string, Value>> named;

    /// The argument at `index`, or named `name`; Undefined if absent.
    const Value& get(std::size_t index, const std::string& name) const;
    bool has(std::size_t index, const std::string& name) const;
    /// Throws TemplateError if there are more than `most` positional ones.
    void expectAtMost(std::size_t most) const;
};

using Function = std::function<Value(const Arguments&)>;

class Value {
public:
    struct Undefined {
        std::string name; ///< of what was looked for
    };
    struct None {};
    /// namespace(...): the only thing that `set a.b = c` may change.
    struct Namespace {
        std::shared_ptr<Map> entries;
    };

    Value() : m_data(Undefined{}) {}
    explicit Value(Undefined undefined) : m_data(std::move(undefined)) {}
    explicit Value(None none) : m_data(none) {}
    explicit Value(bool value) : m_data(value) {}
    explicit Value(std::int64_t value) : m_data(value) {}
    explicit Value(double value) : m_data(value) {}
    explicit Value(std::string value)
        : m_data(std::make_shared<const std::string>(std::move(value))) {}
    explicit Value(const char* value) : Value(std::string(value)) {}
    explicit Value(List value) : m_data(std::make_shared<const List>(std::move(value))) {}
    static Value tuple(List value); ///< a list that is written with parentheses
    static Value view(List value);  ///< of a mapping: what keys(), values() and items() give
    static Value lazy(List value);  ///< what map, select and their kin give: true even when empty
    static Value safe(std::string value); ///< text that needs no escapes: what it joins gets them
    explicit Value(Map value) : m_data(std::make_shared<const Map>(std::move(value))) {}
    explicit Value(Namespace value) : m_data(std::move(value)) {}
    explicit Value(Function value) : m_data(std::make_shared<const Function>(std::move(value))) {}
    static Value fromJson(const model::Json& json);

    bool isUndefined() const { return holds<Undefined>(); }
    bool isNone() const { return holds<None>(); }
    bool isBool() const { return holds<bool>(); }
    bool isInteger() const { return holds<std::int64_t>(); }
    bool isDouble() const { return holds<double>(); }
    bool isNumber() const { return isBool() || isInteger() || isDouble(); }
    bool isString() const { return holds<std::shared_ptr<const std::string>>(); }
    bool isSafe() const { return isString() && m_form == Form::Safe; }
    bool isList() const { return holds<std::shared_ptr<const List>>(); }
    bool isTuple() const { return isList() && m_form == Form::Tuple; }
    /// A list with a length and an index, which views and lazy lists are not.
    bool isSequence() const { return isList() && (m_form == Form::Plain || isTuple()); }
    bool isMap() const { return holds<std::shared_ptr<const Map>>(); }
    bool isNamespace() const { return holds<Namespace>(); }
    bool isFunction() const { return holds<std::shared_ptr<const Function>>(); }

    bool asBool() const { return std::get<bool>(m_data); }
    std::int64_t asInteger() const; ///< of an integer or a bool
    double asDouble() const;        ///< of any number
    const std::string& asString() const;
    const List& asList() const;
    const Map& asMap() const;
    Map& asNamespace() const { return *std::get<Namespace>(m_data).entries; }
    const Function& asFunction() const;

    bool truthy() const;
    std::string text() const; ///< Python's str()
    std::string repr() const; ///< Python's repr()
    const char* typeName() const;
    /// Elements: of a list, keys of a map, characters of a string; nothing for Undefined.
    List elements() const;
    /// Number of elements; throws TemplateError for what has none.
    std::int64_t length() const;
    const Value* findKey(const Value& key) const; ///< in a map or namespace
    bool equals(const Value& other) const;

private:
    /// What Python makes of the same elements.
    enum class Form : std::uint8_t { Plain, Tuple, View, Lazy, Safe };

    Value withForm(Form form) &&;
    template <class T> bool holds() const { return std::holds_alternative<T>(m_data); }

    std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const std::string>,
                 std::shared_ptr<const List>, std::shared_ptr<const Map>, Namespace,
                 std::shared_ptr<const Function>>
        m_data;
    Form m_form = Form::Plain;
};

/// Sets `key` in `map`: a known key keeps its place, as in Python.
void assignKey(Map& map, const Value& key, const Value& value);

/// Python's repr of a float: "1.0", "0.1", "1e+16".
std::string formatDouble(double value);

} // namespace ecokv::jinja
