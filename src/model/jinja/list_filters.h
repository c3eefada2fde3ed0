#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The filters that work on lists and mappings. Throw TemplateError without a position.

#include "model/jinja/value.h"

#include <optional>
#include <string>

namespace ecokv::jinja {

/// Nothing if there is no such filter.
std::optional<Value> applyListFilter(const std::string& name, const Value& input,
                                     const Arguments& arguments);
bool isListFilter(const std::string& name);
/// "a.b" or 0 or "0.name" of `object`; Undefined if there is none.
Value attributePath(const Value& object, const Value& path);

} // namespace ecokv::jinja
