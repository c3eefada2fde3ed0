#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A quoted string of a template with Python's escapes.

#include "model/jinja/template_error.h"

#include <cstddef>
#include <string>

namespace ecokv::jinja {

/// Reads the literal that begins with a quote at `at` and moves `at` behind it.
std::string readStringLiteral(const std::string& source, std::size_t& at, Position position);

} // namespace ecokv::jinja
