#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Variables of a template: a chain of frames. Loops and macros open a frame, so that what they set
// is forgotten behind them; `if` does not.

#include "model/jinja/value.h"

#include <map>
#include <memory>
#include <string>

namespace ecokv::jinja {

class Scope {
public:
    explicit Scope(std::shared_ptr<const Scope> parent = nullptr) : m_parent(std::move(parent)) {}

    void set(const std::string& name, Value value) {
        m_variables.insert_or_assign(name, std::move(value));
    }
    const Value* find(const std::string& name) const {
        for (const Scope* scope = this; scope != nullptr; scope = scope->m_parent.get()) {
            const auto found = scope->m_variables.find(name);
            if (found != scope->m_variables.end()) {
                return &found->second;
            }
        }
        return nullptr;
    }

private:
    std::shared_ptr<const Scope> m_parent;
    std::map<std::string, Value> m_variables;
};

using ScopePtr = std::shared_ptr<Scope>;

} // namespace ecokv::jinja
