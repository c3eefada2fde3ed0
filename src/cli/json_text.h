#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// How every command writes JSON: one line, null for numbers that JSON does not have.

#include <nlohmann/json.hpp>

#include <cmath>
#include <string>

namespace ecokv::cli {

inline nlohmann::json jsonNumber(double value) {
    return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

/// Bytes that are no UTF-8 become U+FFFD: paths and tokens of others may hold any.
inline std::string jsonText(const nlohmann::json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace ecokv::cli
