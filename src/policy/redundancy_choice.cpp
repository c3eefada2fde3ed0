// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "policy/policy_config.h"

#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace ecokv::policy {

namespace {

constexpr std::string_view kMeasured = "measured";
constexpr std::string_view kTable = "table:";

} // namespace

RedundancyChoice parseRedundancy(const std::string& text) {
    const std::string_view value = text;
    RedundancyChoice choice;
    if (value == kMeasured) {
        return choice;
    }
    if (value.starts_with(kTable)) {
        choice.source = RedundancySource::Table;
        choice.file = value.substr(kTable.size());
        if (choice.file.empty()) {
            throwUsage("The policy option 'redundancy' names no table.",
                       "Write redundancy=table:FILE.");
        }
        return choice;
    }
    choice.source = RedundancySource::Constant;
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), choice.constant);
    if (error != std::errc{} || end != value.data() + value.size()) {
        throwUsage(fmt::format("'{}' is not a choice for the policy option 'redundancy'.", text),
                   "Write measured, a number from 0 to 1 for every head, or table:FILE.");
    }
    return choice;
}

std::string redundancyText(const RedundancyChoice& choice) {
    switch (choice.source) {
    case RedundancySource::Constant:
        return fmt::format("{}", choice.constant);
    case RedundancySource::Table:
        return std::string(kTable) + choice.file;
    case RedundancySource::Measured:
        break;
    }
    return std::string(kMeasured);
}

} // namespace ecokv::policy
