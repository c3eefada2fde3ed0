// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/loop_state.h"

#include "model/jinja/template_error.h"

namespace ecokv::jinja {

LoopState::LoopState(const List& elements) : m_elements(elements) {
    const auto last = std::make_shared<List>();
    m_changed = Value(Function([last](const Arguments& arguments) {
        const bool changed = last->empty() || !Value(*last).equals(Value(arguments.positional));
        *last = arguments.positional;
        return Value(changed);
    }));
}

Value LoopState::at(std::size_t index) const {
    const auto i = static_cast<std::int64_t>(index);
    const std::int64_t count = std::ssize(m_elements);
    const auto neighbour = [&](std::int64_t at) {
        return at >= 0 && at < count ? m_elements[static_cast<std::size_t>(at)]
                                     : Value(Value::Undefined{"neighbour"});
    };
    const Function cycle = [index](const Arguments& arguments) {
        if (arguments.positional.empty()) {
            throw TemplateError("cycle has nothing to choose from");
        }
        return arguments.positional[index % arguments.positional.size()];
    };
    return Value(Map{
        {Value("index"), Value(i + 1)},
        {Value("index0"), Value(i)},
        {Value("revindex"), Value(count - i)},
        {Value("revindex0"), Value(count - i - 1)},
        {Value("first"), Value(i == 0)},
        {Value("last"), Value(i + 1 == count)},
        {Value("length"), Value(count)},
        // only recursive loops, which we refuse, go deeper
        {Value("depth"), Value(std::int64_t{1})},
        {Value("depth0"), Value(std::int64_t{0})},
        {Value("previtem"), neighbour(i - 1)},
        {Value("nextitem"), neighbour(i + 1)},
        {Value("cycle"), Value(cycle)},
        {Value("changed"), m_changed},
    });
}

} // namespace ecokv::jinja
