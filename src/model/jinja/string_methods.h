#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The methods of Python's str, on code points. Throw TemplateError without a position.

#include "model/jinja/value.h"

#include <string>

namespace ecokv::jinja {

using Method = Value (*)(const Value& self, const Arguments& arguments);

/// Null if strings have no method of that name.
Method stringMethod(const std::string& name);

} // namespace ecokv::jinja
