#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A parsed template of the subset of Jinja2 that chat templates use, with the environment
// transformers gives them (trim_blocks, lstrip_blocks, loop controls, generation blocks, tojson
// without escapes). Immutable; may be rendered from any thread.

#include "model/jinja/ast.h"
#include "model/json_file.h"

#include <string>

namespace ecokv::jinja {

class Template {
public:
    /// Throws Error{BadInput} naming `origin`, line and column.
    static Template parse(const std::string& source, const std::string& origin);

    /// `variables` must be a JSON object. Throws Error{BadInput} naming origin, line and column.
    std::string render(const model::Json& variables) const;

private:
    Template(Body body, std::string origin)
        : m_body(std::move(body)), m_origin(std::move(origin)) {}

    Body m_body;
    std::string m_origin;
};

} // namespace ecokv::jinja
