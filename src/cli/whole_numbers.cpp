// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/whole_numbers.h"

#include "base/error.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>
#include <type_traits>

namespace ecokv::cli {

namespace {

/// What is wrong with `text` as a number, "" if nothing is. CLI11 would cut what is too large,
/// and count what is negative down from the largest number without a sign.
template <class Number> std::string problemOf(const std::string& text) {
    Number number{};
    if constexpr (std::is_integral_v<Number>) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error == std::errc::result_out_of_range) {
            return "is beyond 64 bits";
        }
    }
    if (std::is_unsigned_v<Number> && text.find('-') != std::string::npos) {
        return "is not a whole number from 0";
    }
    if (CLI::detail::lexical_cast(text, number)) {
        return {};
    }
    return std::is_floating_point_v<Number> ? "is not a number" : "is not a whole number";
}

template <class Number> void guard(CLI::Option& option) {
    const auto check = [&option](std::string& text) {
        if (const std::string problem = problemOf<Number>(text); !problem.empty()) {
            throwUsage(
                fmt::format("{} was given \"{}\", which {}.", option.get_name(), text, problem),
                fmt::format("{}: {}.", option.get_name(), option.get_description()));
        }
        return std::string();
    };
    option.transform(CLI::Validator(check, "")); // before the option's own checks
}

} // namespace

void checkNumbers(CLI::App& app) {
    for (CLI::Option* option : app.get_options()) {
        if (option->get_type_name() == "INT") {
            guard<std::int64_t>(*option);
        } else if (option->get_type_name() == "UINT") {
            guard<std::uint64_t>(*option);
        } else if (option->get_type_name() == "FLOAT") {
            guard<double>(*option);
        }
    }
    for (CLI::App* command : app.get_subcommands({})) {
        checkNumbers(*command);
    }
}

} // namespace ecokv::cli
