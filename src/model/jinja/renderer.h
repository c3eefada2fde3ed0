#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the statements of a template and collects its text.

#include "model/jinja/ast.h"
#include "model/jinja/expression_evaluator.h"
#include "model/jinja/scope.h"

#include <string>

namespace ecokv::jinja {

/// Throws TemplateError with a position.
std::string render(const Body& body, const ScopePtr& variables);

} // namespace ecokv::jinja
