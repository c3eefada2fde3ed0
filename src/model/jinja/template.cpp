// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/template.h"

#include "base/error.h"
#include "model/jinja/renderer.h"
#include "model/jinja/statement_parser.h"

#include <fmt/format.h>

namespace ecokv::jinja {

namespace {

/// Field case F114.
[[noreturn]] void throwAt(const std::string& origin, const TemplateError& error,
                          const char* advice) {
    const Position at = error.position().value_or(Position{});
    throwBadInput(
        fmt::format("{}, line {}, column {}: {}.", origin, at.line, at.column, error.what()),
        advice);
}

} // namespace

Template Template::parse(const std::string& source, const std::string& origin) {
    try {
        return {parseTemplate(source), origin};
    } catch (const TemplateError& error) {
        throwAt(origin, error, "The chat template cannot be used; give a plain prompt instead.");
    }
}

std::string Template::render(const model::Json& variables) const {
    const auto scope = std::make_shared<Scope>();
    for (const auto& [name, value] : variables.items()) {
        scope->set(name, Value::fromJson(value));
    }
    try {
        return jinja::render(m_body, scope);
    } catch (const TemplateError& error) {
        throwAt(m_origin, error, "Change the message, or give a plain prompt instead.");
    }
}

} // namespace ecokv::jinja
