#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// One line of a report about something that is checked: what was looked at, what was found, how
// bad it is and what to do. A value.

#include <cstdint>
#include <string>

namespace ecokv {

enum class Severity : std::uint8_t { Good, Note, Problem }; ///< Problem: a run would be refused

struct Finding {
    std::string topic; ///< heading it stands under: "Files", "Weights", ...
    std::string label; ///< what was looked at: "config.json", "Tensors"
    std::string text;  ///< what was found, for people
    Severity severity = Severity::Good;
    std::string advice; ///< what to do; "" where nothing is to be done
};

} // namespace ecokv
