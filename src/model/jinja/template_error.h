#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// An error in a template and where it stands. Internal to this folder: Template turns it into
// ecokv::Error with the name of the file.

#include <optional>
#include <stdexcept>
#include <string>

namespace ecokv::jinja {

struct Position {
    int line = 1, column = 1; ///< from 1, in characters
};

class TemplateError : public std::runtime_error {
public:
    explicit TemplateError(const std::string& message) : std::runtime_error(message) {}
    TemplateError(const std::string& message, Position at)
        : std::runtime_error(message), m_at(at) {}

    const std::optional<Position>& position() const { return m_at; }

private:
    std::optional<Position> m_at;
};

} // namespace ecokv::jinja
