#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The filters of templates. Throw TemplateError without a position.

#include "model/jinja/value.h"

#include <string>

namespace ecokv::jinja {

/// Throws for a name that is not known, with that name.
Value applyFilter(const std::string& name, const Value& input, const Arguments& arguments);
bool isFilter(const std::string& name);

} // namespace ecokv::jinja
