#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The `tojson` filter as transformers defines it: Python's json.dumps with ensure_ascii off.

#include "model/jinja/value.h"

#include <optional>
#include <string>

namespace ecokv::jinja {

struct JsonStyle {
    std::optional<std::string> indent; ///< one level; nothing = one line
    std::string itemSeparator = ", ";
    std::string keySeparator = ": ";
    bool asciiOnly = false;
    bool sortKeys = false;
};

std::string toJson(const Value& value, const JsonStyle& style);

} // namespace ecokv::jinja
