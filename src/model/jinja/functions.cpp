// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/functions.h"

#include "model/jinja/template_error.h"

#include <array>
#include <ctime>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace ecokv::jinja {

namespace {

constexpr std::int64_t kMaxRange = 100'000; // the limit of Jinja's sandbox

Value raiseException(const Arguments& arguments) {
    throw TemplateError(
        fmt::format("the template refuses: {}", arguments.get(0, "message").text()));
}

Value range(const Arguments& arguments) {
    arguments.expectAtMost(3);
    const std::size_t count = arguments.positional.size();
    if (count == 0) {
        throw TemplateError("range needs a number");
    }
    const auto number = [&](std::size_t i) { return arguments.positional[i].asInteger(); };
    const std::int64_t begin = count > 1 ? number(0) : 0;
    const std::int64_t end = count > 1 ? number(1) : number(0);
    const std::int64_t step = count > 2 ? number(2) : 1;
    if (step == 0) {
        throw TemplateError("the step of range is zero");
    }
    List numbers;
    for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += step) {
        if (std::ssize(numbers) >= kMaxRange) {
            throw TemplateError(fmt::format("range has more than {} numbers", kMaxRange));
        }
        numbers.emplace_back(i);
    }
    return Value(std::move(numbers));
}

/// What dict() makes of a mapping or a list of pairs, and of named arguments.
Map namedAsMap(const Arguments& arguments) {
    arguments.expectAtMost(1);
    Map map;
    if (!arguments.positional.empty()) {
        const Value& first = arguments.positional.front();
        if (first.isMap()) {
            map = first.asMap();
        } else {
            for (const Value& pair : first.elements()) {
                if (pair.length() != 2) {
                    throw TemplateError("dict needs pairs of a key and a value");
                }
                const List parts = pair.elements();
                assignKey(map, parts[0], parts[1]);
            }
        }
    }
    for (const auto& [name, value] : arguments.named) {
        assignKey(map, Value(name), value);
    }
    return map;
}

Value makeNamespace(const Arguments& arguments) {
    return Value(Value::Namespace{std::make_shared<Map>(namedAsMap(arguments))});
}

Value makeDict(const Arguments& arguments) {
    return Value(namedAsMap(arguments));
}

/// A function that gives nothing at its first call and the separator from then on.
Value makeJoiner(const Arguments& arguments) {
    const Value separator = arguments.has(0, "sep") ? arguments.get(0, "sep") : Value(", ");
    return Value(Function([separator, used = std::make_shared<bool>(false)](const Arguments&) {
        return std::exchange(*used, true) ? separator : Value("");
    }));
}

Value strftimeNow(const Arguments& arguments) {
    const std::string& format = arguments.get(0, "format").asString();
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    std::array<char, 256> buffer{};
    const std::size_t length = std::strftime(buffer.data(), buffer.size(), format.c_str(), &local);
    return Value(std::string(buffer.data(), length));
}

} // namespace

const Map& globalFunctions() {
    static const Map kFunctions{
        {Value("raise_exception"), Value(Function(raiseException))},
        {Value("range"), Value(Function(range))},
        {Value("namespace"), Value(Function(makeNamespace))},
        {Value("dict"), Value(Function(makeDict))},
        {Value("joiner"), Value(Function(makeJoiner))},
        {Value("strftime_now"), Value(Function(strftimeNow))},
    };
    return kFunctions;
}

} // namespace ecokv::jinja
