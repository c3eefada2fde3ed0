#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The tests of templates (`x is string`). Throw TemplateError without a position.

#include "model/jinja/value.h"

#include <string>

namespace ecokv::jinja {

/// Throws for a name that is not known, with that name.
bool applyTest(const std::string& name, const Value& input, const Arguments& arguments);

} // namespace ecokv::jinja
