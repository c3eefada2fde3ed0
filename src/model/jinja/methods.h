#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The methods of strings, mappings and lists that templates call. Methods that would change their
// object are refused, as transformers' sandbox does.

#include "model/jinja/value.h"

#include <optional>
#include <string>

namespace ecokv::jinja {

/// The method bound to `object`, or nothing if it has none of that name.
std::optional<Value> boundMethod(const Value& object, const std::string& name);

} // namespace ecokv::jinja
