#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The two ways Python fills values into a text: `"%s" % x` and `"{}".format(x)`. Throw
// TemplateError without a position.

#include "model/jinja/value.h"

#include <string>

namespace ecokv::jinja {

/// `values` is a tuple, a mapping for `%(name)s`, or the one value.
std::string formatPercent(const std::string& format, const Value& values);
/// Fields are counted, numbered or named; attributes and conversions in them are refused.
std::string formatBraces(const std::string& format, const Arguments& arguments);

} // namespace ecokv::jinja
