// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/renderer.h"

#include "model/jinja/loop_state.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace ecokv::jinja {

namespace {

constexpr std::size_t kMaxOutput = 64 << 20; // bytes

enum class Flow { Next, Break, Continue };

class Renderer {
public:
    Renderer(ScopePtr scope, std::shared_ptr<Budget> budget)
        : m_scope(std::move(scope)), m_budget(std::move(budget)) {}

    Flow run(const Body& body) {
        for (const auto& statement : body) {
            const Flow flow = run(*statement);
            if (flow != Flow::Next) {
                return flow;
            }
        }
        return Flow::Next;
    }

    std::string take() { return std::move(m_output); }

    Flow operator()(const TextStatement& node) {
        write(node.text);
        return Flow::Next;
    }

    Flow operator()(const OutputStatement& node) {
        write(evaluate(*node.value).text());
        return Flow::Next;
    }

    Flow operator()(const IfStatement& node) {
        for (const auto& [condition, body] : node.branches) {
            if (condition == nullptr || evaluate(*condition).truthy()) {
                return run(body);
            }
        }
        return Flow::Next;
    }

    Flow operator()(const ForStatement& node);
    Flow operator()(const SetStatement& node);
    Flow operator()(const MacroStatement& node) {
        m_scope->set(node.name, macroOf(node));
        return Flow::Next;
    }

    Flow operator()(const CallStatement& node) {
        const Value caller = macroOf(node.caller);
        write(ExpressionEvaluator(*m_scope, *m_budget).callWith(*node.call, caller).text());
        return Flow::Next;
    }

    Flow operator()(const WithStatement& node) {
        const auto inner = std::make_shared<Scope>(m_scope);
        for (const auto& [name, value] : node.variables) {
            inner->set(name, evaluate(*value)); // in the scope outside
        }
        return runIn(inner, node.body);
    }

    Flow operator()(const FilterStatement& node) {
        const Value input(capture(node.body));
        write(ExpressionEvaluator(*m_scope, *m_budget).applyFilters(node.filters, input).text());
        return Flow::Next;
    }

    Flow operator()(const ScopeStatement& node) {
        return runIn(std::make_shared<Scope>(m_scope), node.body);
    }

    Flow operator()(const LoopControl& node) { return node.isBreak ? Flow::Break : Flow::Continue; }

private:
    Flow run(const Statement& statement) {
        try {
            m_budget->spend();
            return std::visit(*this, statement.node);
        } catch (const TemplateError& error) {
            if (error.position()) {
                throw;
            }
            throw TemplateError(error.what(), statement.at);
        }
    }

    Value evaluate(const Expression& expression) const {
        return ExpressionEvaluator(*m_scope, *m_budget).evaluate(expression);
    }

    void write(const std::string& text) {
        if (text.size() > kMaxOutput - m_output.size()) {
            throw TemplateError("the template writes more than 64 MiB");
        }
        m_output += text;
    }

    /// The text a body writes, in a frame of its own.
    std::string capture(const Body& body) const {
        Renderer inner(std::make_shared<Scope>(m_scope), m_budget);
        inner.run(body);
        return inner.take();
    }

    /// Runs a body whose variables are forgotten behind it.
    Flow runIn(const ScopePtr& scope, const Body& body) {
        const ScopePtr outer = std::exchange(m_scope, scope);
        const Flow flow = run(body);
        m_scope = outer;
        return flow;
    }

    Value macroOf(const MacroStatement& node) const;
    static void assign(Scope& scope, const AssignTarget& target, const Value& value);
    List filteredElements(const ForStatement& node) const;

    ScopePtr m_scope;
    std::shared_ptr<Budget> m_budget; ///< macros may be called after this renderer is gone
    std::string m_output;
};

void Renderer::assign(Scope& scope, const AssignTarget& target, const Value& value) {
    if (target.parts.empty()) {
        scope.set(target.name, value);
        return;
    }
    const List values = value.elements();
    if (values.size() != target.parts.size()) {
        throw TemplateError(fmt::format("{} values are to be unpacked into {} names", values.size(),
                                        target.parts.size()));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
        assign(scope, target.parts[i], values[i]);
    }
}

List Renderer::filteredElements(const ForStatement& node) const {
    List elements = evaluate(*node.iterable).elements();
    if (node.condition == nullptr) {
        return elements;
    }
    std::erase_if(elements, [&](const Value& element) {
        Scope scope(m_scope);
        assign(scope, node.target, element);
        return !ExpressionEvaluator(scope, *m_budget).evaluate(*node.condition).truthy();
    });
    return elements;
}

Flow Renderer::operator()(const ForStatement& node) {
    const List elements = filteredElements(node);
    if (elements.empty()) {
        return run(node.otherwise);
    }
    const ScopePtr outer = m_scope;
    const LoopState loop(elements);
    Flow flow = Flow::Next;
    for (std::size_t i = 0; i < elements.size() && flow != Flow::Break; ++i) {
        m_budget->spend();
        m_scope = std::make_shared<Scope>(outer); // what the body sets ends with each round
        assign(*m_scope, node.target, elements[i]);
        m_scope->set("loop", loop.at(i));
        flow = run(node.body);
    }
    m_scope = outer;
    return Flow::Next;
}

Flow Renderer::operator()(const SetStatement& node) {
    Value value;
    if (node.value != nullptr) {
        value = evaluate(*node.value);
    } else {
        value = ExpressionEvaluator(*m_scope, *m_budget)
                    .applyFilters(node.filters, Value(capture(node.body)));
    }
    if (node.attribute.empty()) {
        assign(*m_scope, node.target, value);
        return Flow::Next;
    }
    const Value* target = m_scope->find(node.target.name);
    if (target == nullptr || !target->isNamespace()) {
        throw TemplateError(
            fmt::format("'{}' is no namespace, so it has nothing to set", node.target.name));
    }
    Map& entries = target->asNamespace();
    assignKey(entries, Value(node.attribute), value);
    return Flow::Next;
}

/// The named arguments that no parameter takes.
Map othersNamed(const MacroStatement& node, const Arguments& arguments) {
    Map others;
    for (const auto& [name, value] : arguments.named) {
        const bool known = (name == "caller" && node.takesCaller) ||
                           std::ranges::any_of(node.parameters, [&](const auto& parameter) {
                               return parameter.first == name;
                           });
        if (!known) {
            assignKey(others, Value(name), value);
        }
    }
    return others;
}

/// Sets what the macro is given beyond its parameters, or refuses it.
void bindOthers(const MacroStatement& node, const Arguments& arguments, Scope& scope) {
    const std::size_t count = node.parameters.size();
    if (!node.takesMore) {
        arguments.expectAtMost(count);
    } else {
        const auto first =
            arguments.positional.begin() +
            static_cast<std::ptrdiff_t>(std::min(count, arguments.positional.size()));
        scope.set("varargs", Value::tuple(List(first, arguments.positional.end())));
    }
    Map others = othersNamed(node, arguments);
    if (!others.empty() && !node.takesMoreNamed) {
        throw TemplateError(fmt::format("the macro '{}' takes no argument '{}'", node.name,
                                        others.front().first.text()));
    }
    if (node.takesMoreNamed) {
        scope.set("kwargs", Value(std::move(others)));
    }
    if (node.takesCaller) {
        const Value& caller = arguments.get(arguments.positional.size(), "caller");
        scope.set("caller", caller.isFunction() ? caller : Value(Value::Undefined{"caller"}));
    }
}

Value Renderer::macroOf(const MacroStatement& node) const {
    const auto call = [&node, weakScope = std::weak_ptr<Scope>(m_scope),
                       budget = m_budget](const Arguments& arguments) {
        const auto defined = weakScope.lock(); // the frame holds the macro, not the other way round
        if (defined == nullptr) {
            throw TemplateError(fmt::format("the macro '{}' has left its scope", node.name));
        }
        auto scope = std::make_shared<Scope>(defined);
        bindOthers(node, arguments, *scope);
        for (std::size_t i = 0; i < node.parameters.size(); ++i) {
            const auto& [name, fallback] = node.parameters[i];
            if (arguments.has(i, name)) {
                scope->set(name, arguments.get(i, name));
            } else if (fallback != nullptr) {
                scope->set(name, ExpressionEvaluator(*scope, *budget).evaluate(*fallback));
            } else {
                scope->set(name, Value(Value::Undefined{name}));
            }
        }
        if (--budget->depth < 0) {
            throw TemplateError("macros call each other too deeply");
        }
        Renderer inner(scope, budget);
        inner.run(node.body);
        ++budget->depth;
        return Value(inner.take());
    };
    return Value(Function(call));
}

} // namespace

std::string render(const Body& body, const ScopePtr& variables) {
    Renderer renderer(variables, std::make_shared<Budget>());
    renderer.run(body);
    return renderer.take();
}

} // namespace ecokv::jinja
