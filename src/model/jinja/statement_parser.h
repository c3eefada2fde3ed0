#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Statements of a template: text, output and tags. Tags we do not know are refused by name.

#include "model/jinja/ast.h"

#include <string>

namespace ecokv::jinja {

/// The whole template. Throws TemplateError.
Body parseTemplate(const std::string& source);

} // namespace ecokv::jinja
