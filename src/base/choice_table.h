#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Tables of choices with the names people type and files hold, so that each list of names exists
// once. Values only; any thread.

#include "base/error.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ecokv {

template <class Choice> struct NamedChoice {
    const char* name;
    Choice value;
};

template <class Choice, std::size_t N> using ChoiceTable = std::array<NamedChoice<Choice>, N>;

/// Throws Error{Internal} for a value the table leaves out.
template <class Choice, std::size_t N>
const char* nameOf(const ChoiceTable<Choice, N>& table, Choice value) {
    for (const auto& entry : table) {
        if (entry.value == value) {
            return entry.name;
        }
    }
    throwInternal("An option has a value without a name.");
}

template <class Choice, std::size_t N>
std::optional<Choice> valueNamed(const ChoiceTable<Choice, N>& table, std::string_view name) {
    for (const auto& entry : table) {
        if (entry.name == name) {
            return entry.value;
        }
    }
    return std::nullopt;
}

/// "auto, cpu, cuda".
template <class Choice, std::size_t N>
std::string joinedNames(const ChoiceTable<Choice, N>& table) {
    std::string names;
    for (const auto& entry : table) {
        names += names.empty() ? "" : ", ";
        names += entry.name;
    }
    return names;
}

} // namespace ecokv
