// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/list_filters.h"

#include "model/jinja/characters.h"
#include "model/jinja/filters.h"
#include "model/jinja/operators.h"
#include "model/jinja/template_error.h"
#include "model/jinja/tests.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace ecokv::jinja {

namespace {

using Filter = Value (*)(const Value&, const Arguments&);

Value filterList(const Value& input, const Arguments& /*arguments*/) {
    return Value(input.elements());
}

Value filterFirst(const Value& input, const Arguments& /*arguments*/) {
    const List elements = input.elements();
    return elements.empty() ? Value(Value::Undefined{"first element"}) : elements.front();
}

Value filterLast(const Value& input, const Arguments& /*arguments*/) {
    const List elements = input.elements();
    return elements.empty() ? Value(Value::Undefined{"last element"}) : elements.back();
}

Value filterReverse(const Value& input, const Arguments& /*arguments*/) {
    List elements = input.elements();
    std::ranges::reverse(elements);
    if (!input.isString()) {
        return Value::lazy(std::move(elements));
    }
    std::string text;
    for (const Value& character : elements) {
        text += character.asString();
    }
    return Value(std::move(text));
}

Value filterItems(const Value& input, const Arguments& /*arguments*/) {
    List pairs;
    if (input.isUndefined()) {
        return Value::lazy(std::move(pairs));
    }
    if (!input.isMap()) {
        throw TemplateError("'items' works on mappings only");
    }
    for (const auto& [key, value] : input.asMap()) {
        pairs.push_back(Value::tuple({key, value}));
    }
    return Value::lazy(std::move(pairs));
}

/// Lower case where strings are compared without regard to case.
Value sortKey(const Value& value, bool caseSensitive) {
    return value.isString() && !caseSensitive ? Value(toLower(value.asString())) : value;
}

Value filterSort(const Value& input, const Arguments& arguments) {
    const bool reverse = arguments.get(0, "reverse").truthy();
    const bool caseSensitive = arguments.get(1, "case_sensitive").truthy();
    const Value& attribute = arguments.get(2, "attribute");
    const auto keyOf = [&](const Value& element) {
        return sortKey(attribute.isUndefined() || attribute.isNone()
                           ? element
                           : attributePath(element, attribute),
                       caseSensitive);
    };
    List elements = input.elements();
    std::ranges::stable_sort(elements, [&](const Value& a, const Value& b) {
        return reverse ? order(keyOf(b), keyOf(a)) < 0 : order(keyOf(a), keyOf(b)) < 0;
    });
    return Value(std::move(elements));
}

Value filterDictSort(const Value& input, const Arguments& arguments) {
    const bool caseSensitive = arguments.get(0, "case_sensitive").truthy();
    const Value& by = arguments.get(1, "by");
    const std::size_t index = by.isString() && by.asString() == "value" ? 1 : 0;
    const bool reverse = arguments.get(2, "reverse").truthy();
    List pairs = filterItems(input, {}).asList();
    std::ranges::stable_sort(pairs, [&](const Value& a, const Value& b) {
        const int result = order(sortKey(a.asList()[index], caseSensitive),
                                 sortKey(b.asList()[index], caseSensitive));
        return reverse ? result > 0 : result < 0;
    });
    return Value(std::move(pairs));
}

Value filterUnique(const Value& input, const Arguments& arguments) {
    const bool caseSensitive = arguments.get(0, "case_sensitive").truthy();
    List kept;
    List keys;
    for (const Value& element : input.elements()) {
        const Value key = sortKey(element, caseSensitive);
        if (std::ranges::none_of(keys, [&](const Value& k) { return k.equals(key); })) {
            keys.push_back(key);
            kept.push_back(element);
        }
    }
    return Value::lazy(std::move(kept));
}

Value filterSum(const Value& input, const Arguments& arguments) {
    const Value& attribute = arguments.get(0, "attribute");
    Value total = arguments.has(1, "start") ? arguments.get(1, "start") : Value(std::int64_t{0});
    for (const Value& element : input.elements()) {
        total = applyBinary("+", total,
                            attribute.isUndefined() ? element : attributePath(element, attribute));
    }
    return total;
}

Value extreme(const Value& input, int sign) {
    const List elements = input.elements();
    const Value* best = nullptr;
    for (const Value& element : elements) {
        if (best == nullptr || order(sortKey(element, false), sortKey(*best, false)) * sign > 0) {
            best = &element;
        }
    }
    return best == nullptr ? Value(Value::Undefined{"element"}) : *best;
}

Value filterMin(const Value& input, const Arguments& /*arguments*/) {
    return extreme(input, -1);
}

Value filterMax(const Value& input, const Arguments& /*arguments*/) {
    return extreme(input, 1);
}

/// Arguments behind the first `count` ones.
Arguments rest(const Arguments& arguments, std::size_t count) {
    Arguments result;
    for (std::size_t i = count; i < arguments.positional.size(); ++i) {
        result.positional.push_back(arguments.positional[i]);
    }
    result.named = arguments.named;
    return result;
}

Value filterMap(const Value& input, const Arguments& arguments) {
    List mapped;
    if (arguments.positional.empty()) {
        const Value& attribute = arguments.get(0, "attribute");
        if (attribute.isUndefined()) {
            throw TemplateError("'map' needs a filter or an attribute");
        }
        for (const Value& element : input.elements()) {
            Value value = attributePath(element, attribute);
            mapped.push_back(value.isUndefined() ? arguments.get(1, "default") : std::move(value));
        }
        return Value::lazy(std::move(mapped));
    }
    const std::string& name = arguments.positional.front().asString();
    const Arguments others = rest(arguments, 1);
    for (const Value& element : input.elements()) {
        mapped.push_back(applyFilter(name, element, others));
    }
    return Value::lazy(std::move(mapped));
}

struct Selection {
    bool byAttribute;
    bool keepsMatches;
};

Value selectElements(const Value& input, const Arguments& arguments, Selection selection) {
    const std::size_t testIndex = selection.byAttribute ? 1 : 0;
    if (selection.byAttribute && arguments.positional.empty()) {
        throw TemplateError("the name of an attribute is missing");
    }
    const bool tested = arguments.positional.size() > testIndex;
    const std::string test = tested ? arguments.positional[testIndex].asString() : "";
    const Arguments others = rest(arguments, testIndex + 1);
    List kept;
    for (const Value& element : input.elements()) {
        const Value value =
            selection.byAttribute ? attributePath(element, arguments.positional[0]) : element;
        const bool matches = tested ? applyTest(test, value, others) : value.truthy();
        if (matches == selection.keepsMatches) {
            kept.push_back(element);
        }
    }
    return Value::lazy(std::move(kept));
}

Value filterSelect(const Value& input, const Arguments& arguments) {
    return selectElements(input, arguments, {false, true});
}

Value filterReject(const Value& input, const Arguments& arguments) {
    return selectElements(input, arguments, {false, false});
}

Value filterSelectAttribute(const Value& input, const Arguments& arguments) {
    return selectElements(input, arguments, {true, true});
}

Value filterRejectAttribute(const Value& input, const Arguments& arguments) {
    return selectElements(input, arguments, {true, false});
}

/// Rows of `count` elements; the last one may be filled up.
Value filterBatch(const Value& input, const Arguments& arguments) {
    const std::int64_t count = arguments.get(0, "linecount").asInteger();
    const Value& fill = arguments.get(1, "fill_with");
    if (count < 1) {
        throw TemplateError("'batch' needs a positive number");
    }
    List rows;
    List row;
    for (const Value& element : input.elements()) {
        row.push_back(element);
        if (std::ssize(row) == count) {
            rows.emplace_back(std::exchange(row, {}));
        }
    }
    while (!row.empty() && !fill.isUndefined() && !fill.isNone() && std::ssize(row) < count) {
        row.push_back(fill);
    }
    if (!row.empty()) {
        rows.emplace_back(std::move(row));
    }
    return Value::lazy(std::move(rows));
}

Value filterAttribute(const Value& input, const Arguments& arguments) {
    return input.isNamespace() ? item(input, arguments.get(0, "name"))
                               : Value(Value::Undefined{arguments.get(0, "name").text()});
}

const std::map<std::string, Filter, std::less<>>& listFilters() {
    static const std::map<std::string, Filter, std::less<>> kFilters{
        {"list", filterList},
        {"first", filterFirst},
        {"last", filterLast},
        {"reverse", filterReverse},
        {"items", filterItems},
        {"sort", filterSort},
        {"dictsort", filterDictSort},
        {"unique", filterUnique},
        {"sum", filterSum},
        {"min", filterMin},
        {"max", filterMax},
        {"map", filterMap},
        {"select", filterSelect},
        {"reject", filterReject},
        {"selectattr", filterSelectAttribute},
        {"rejectattr", filterRejectAttribute},
        {"batch", filterBatch},
        {"attr", filterAttribute},
    };
    return kFilters;
}

} // namespace

bool isListFilter(const std::string& name) {
    return listFilters().contains(name);
}

Value attributePath(const Value& object, const Value& path) {
    if (!path.isString()) {
        return item(object, path);
    }
    Value value = object;
    const std::string& text = path.asString();
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('.', begin), text.size());
        const std::string part = text.substr(begin, end - begin);
        std::int64_t index = 0;
        const auto [last, error] = std::from_chars(part.data(), part.data() + part.size(), index);
        const bool number = error == std::errc() && last == part.data() + part.size();
        value = item(value, number ? Value(index) : Value(part));
        begin = end + 1;
    }
    return value;
}

std::optional<Value> applyListFilter(const std::string& name, const Value& input,
                                     const Arguments& arguments) {
    const auto found = listFilters().find(name);
    return found == listFilters().end() ? std::nullopt
                                        : std::optional(found->second(input, arguments));
}

} // namespace ecokv::jinja
