// SPDX-License-Identifier: GPL-3.0-or-later
// "name:key=value,key=value" to a PolicyConfig and back. Numbers are read and written without a
// locale (F155, F156).
#include "base/error.h"
#include "policy/allocator.h"
#include "policy/choice_names.h"
#include "policy/policy_config.h"
#include "policy/scorer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ecokv::policy {

namespace {

template <class Number> Number readNumber(std::string_view key, std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) {
        throwUsage(fmt::format("'{}' is not a {} for the policy option '{}'.", text,
                               std::integral<Number> ? "whole number" : "number", key),
                   "Write numbers with a decimal point, options as key=value with commas between.");
    }
    return number;
}

template <class Choice, std::size_t N>
Choice readChoice(std::string_view key, std::string_view text,
                  const ChoiceTable<Choice, N>& choices) {
    if (const std::optional<Choice> choice = valueNamed(choices, text)) {
        return *choice;
    }
    throwUsage(fmt::format("'{}' is not a choice for the policy option '{}'.", text, key),
               fmt::format("Choose from: {}.", joinedNames(choices)));
}

constexpr ChoiceTable<bool, 6> kSwitches{
    {{"on", true}, {"off", false}, {"1", true}, {"0", false}, {"true", true}, {"false", false}}};

using Setter = void (*)(PolicyConfig&, std::string_view key, std::string_view value);
using Getter = std::string (*)(const PolicyConfig&); ///< as `Setter` reads it, "" = unset

struct Option {
    std::string_view key;
    Setter set;
    Getter get;
};

template <auto Member>
void setNumber(PolicyConfig& config, std::string_view key, std::string_view value) {
    auto& field = config.*Member;
    if constexpr (requires { field.has_value(); }) {
        field =
            readNumber<typename std::remove_reference_t<decltype(field)>::value_type>(key, value);
    } else {
        field = readNumber<std::remove_reference_t<decltype(field)>>(key, value);
    }
}

template <auto Member> std::string numberText(const PolicyConfig& config) {
    const auto& field = config.*Member;
    if constexpr (requires { field.has_value(); }) {
        return field ? fmt::format("{}", *field) : std::string();
    } else {
        return fmt::format("{}", field);
    }
}

template <auto Member>
void setText(PolicyConfig& config, std::string_view key, std::string_view value) {
    if (value.empty()) {
        throwUsage(fmt::format("The policy option '{}' has no value.", key),
                   fmt::format("Write {}=VALUE.", key));
    }
    config.*Member = value;
}

template <auto Member> std::string text(const PolicyConfig& config) {
    return config.*Member;
}

/// The newer of the two wins over what a grid or flags set before.
void setBudget(PolicyConfig& config, std::string_view key, std::string_view value) {
    setNumber<&PolicyConfig::budget>(config, key, value);
    config.ratio.reset();
}

void setRatio(PolicyConfig& config, std::string_view key, std::string_view value) {
    setNumber<&PolicyConfig::ratio>(config, key, value);
    config.budget = 0;
}

constexpr std::array kOptions = {
    Option{"budget", setBudget, numberText<&PolicyConfig::budget>},
    Option{"ratio", setRatio, numberText<&PolicyConfig::ratio>},
    Option{"window", setNumber<&PolicyConfig::window>, numberText<&PolicyConfig::window>},
    Option{"recent", setNumber<&PolicyConfig::recent>, numberText<&PolicyConfig::recent>},
    Option{"sink", setNumber<&PolicyConfig::sink>, numberText<&PolicyConfig::sink>},
    Option{"pool", setNumber<&PolicyConfig::pool>, numberText<&PolicyConfig::pool>},
    Option{"pool_mode",
           [](PolicyConfig& config, std::string_view key, std::string_view value) {
               config.poolMode = readChoice(key, value, kPoolModes);
           },
           [](const PolicyConfig& config) {
               return std::string(config.poolMode ? nameOf(kPoolModes, *config.poolMode) : "");
           }},
    Option{"vnorm",
           [](PolicyConfig& config, std::string_view key, std::string_view value) {
               config.valueNorm = readChoice(key, value, kSwitches);
           },
           [](const PolicyConfig& config) {
               return std::string(config.valueNorm ? nameOf(kSwitches, *config.valueNorm) : "");
           }},
    Option{"alpha", setNumber<&PolicyConfig::alpha>, numberText<&PolicyConfig::alpha>},
    Option{"beta", setNumber<&PolicyConfig::beta>, numberText<&PolicyConfig::beta>},
    Option{"geometry",
           [](PolicyConfig& config, std::string_view key, std::string_view value) {
               config.geometry = readChoice(key, value, kGeometries);
           },
           [](const PolicyConfig& config) {
               return std::string(nameOf(kGeometries, config.geometry));
           }},
    Option{"redundancy",
           [](PolicyConfig& config, std::string_view, std::string_view value) {
               config.redundancy = parseRedundancy(std::string(value));
           },
           [](const PolicyConfig& config) { return redundancyText(config.redundancy); }},
    Option{"lambda", setNumber<&PolicyConfig::lambda>, numberText<&PolicyConfig::lambda>},
    Option{"allocator", setText<&PolicyConfig::allocator>, text<&PolicyConfig::allocator>},
    Option{"floor", setNumber<&PolicyConfig::floor>, numberText<&PolicyConfig::floor>},
    Option{"pyramid_beta", setNumber<&PolicyConfig::pyramidBeta>,
           numberText<&PolicyConfig::pyramidBeta>},
    Option{"head_weights", setText<&PolicyConfig::headWeights>, text<&PolicyConfig::headWeights>},
    Option{"seed", setNumber<&PolicyConfig::seed>, numberText<&PolicyConfig::seed>},
};

void setOption(PolicyConfig& config, std::string_view option) {
    const std::size_t equals = option.find('=');
    const std::string_view key = option.substr(0, equals);
    std::vector<std::string_view> names;
    for (const Option& known : kOptions) {
        if (known.key == key && equals != std::string_view::npos) {
            known.set(config, key, option.substr(equals + 1));
            return;
        }
        names.push_back(known.key);
    }
    throwUsage(fmt::format("'{}' is not a policy option.", option),
               fmt::format("Write key=value with one of: {}.", fmt::join(names, ", ")));
}

} // namespace

PolicyConfig parsePolicy(const std::string& text, const PolicyConfig& defaults) {
    PolicyConfig config = defaults;
    const std::string_view whole = text;
    const std::size_t colon = whole.find(':');
    config.scorer = whole.substr(0, colon);
    findScorer(config.scorer);
    std::string_view rest =
        colon == std::string_view::npos ? std::string_view{} : whole.substr(colon + 1);
    while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        setOption(config, rest.substr(0, comma));
        rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    }
    findAllocator(config.allocator);
    return config;
}

std::string policyText(const PolicyConfig& config) {
    std::string text = config.scorer;
    for (const Option& option : kOptions) {
        const std::string value = option.get(config);
        if (value != option.get(PolicyConfig{})) {
            text += text == config.scorer ? ':' : ',';
            text += fmt::format("{}={}", option.key, value);
        }
    }
    return text;
}

std::vector<std::string> namedOptions(const std::string& text) {
    std::vector<std::string> names;
    for (std::size_t at = text.find(':'); at != std::string::npos; at = text.find(',', at + 1)) {
        const std::size_t end = std::min(text.find_first_of("=,", at + 1), text.size());
        if (end > at + 1) {
            names.push_back(text.substr(at + 1, end - at - 1));
        }
    }
    return names;
}

std::string optionText(const PolicyConfig& config, const std::string& name) {
    for (const Option& option : kOptions) {
        if (option.key == name) {
            return option.get(config);
        }
    }
    return {};
}

} // namespace ecokv::policy
