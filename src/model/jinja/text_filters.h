#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The filters that change a text. Throw TemplateError without a position.

#include "model/jinja/value.h"

#include <optional>
#include <string>
#include <string_view>

namespace ecokv::jinja {

/// Nothing if there is no such filter.
std::optional<Value> applyTextFilter(const std::string& name, const Value& input,
                                     const Arguments& arguments);
bool isTextFilter(const std::string& name);
/// The five characters that mean something in HTML, as entities.
std::string escapeHtml(std::string_view source);

} // namespace ecokv::jinja
