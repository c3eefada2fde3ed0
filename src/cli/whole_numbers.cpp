// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/whole_numbers.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

namespace ecokv::cli {

namespace {

/// "" or why CLI11 must not convert `text` (it saturates); what is no number at all it says itself.
template <class Number> std::string problemOf(const std::string& text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc::result_out_of_range ? text + " is beyond 64 bits" : std::string();
}

} // namespace

void refuseHugeNumbers(CLI::App& app) {
    for (CLI::Option* option : app.get_options()) {
        if (option->get_type_name() == "INT") {
            option->check(CLI::Validator(problemOf<std::int64_t>, ""));
        } else if (option->get_type_name() == "UINT") {
            option->check(CLI::Validator(problemOf<std::uint64_t>, ""));
        }
    }
    for (CLI::App* command : app.get_subcommands({})) {
        refuseHugeNumbers(*command);
    }
}

} // namespace ecokv::cli
