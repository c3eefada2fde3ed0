// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/renderer.h"

#include "model/jinja/loop_state.h"

#include <memory>

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
    Flow operator()(const MacroStatement& node);

    Flow operator()(const FilterStatement& node) {
        const Value input(capture(node.body));
        write(ExpressionEvaluator(*m_scope, *m_budget).applyFilters(node.filters, input).text());
        return Flow::Next;
    }

    Flow operator()(const ScopeStatement& node) { return run(node.body); }

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

    static void assign(Scope& scope, const std::vector<std::string>& targets, const Value& value);
    List filteredElements(const ForStatement& node) const;

    ScopePtr m_scope;
    std::shared_ptr<Budget> m_budget; ///< macros may be called after this renderer is gone
    std::string m_output;
};

void Renderer::assign(Scope& scope, const std::vector<std::string>& targets, const Value& value) {
    if (targets.size() == 1) {
        scope.set(targets.front(), value);
        return;
    }
    const List parts = value.elements();
    if (parts.size() != targets.size()) {
        throw TemplateError(fmt::format("{} values are to be unpacked into {} names", parts.size(),
                                        targets.size()));
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        scope.set(targets[i], parts[i]);
    }
}

List Renderer::filteredElements(const ForStatement& node) const {
    List elements = evaluate(*node.iterable).elements();
    if (node.condition == nullptr) {
        return elements;
    }
    std::erase_if(elements, [&](const Value& element) {
        Scope scope(m_scope);
        assign(scope, node.targets, element);
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
        assign(*m_scope, node.targets, elements[i]);
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
        assign(*m_scope, node.targets, value);
        return Flow::Next;
    }
    const Value* target = m_scope->find(node.targets.front());
    if (target == nullptr || !target->isNamespace()) {
        throw TemplateError(
            fmt::format("'{}' is no namespace, so it has nothing to set", node.targets.front()));
    }
    Map& entries = target->asNamespace();
    for (auto& [key, entry] : entries) {
        if (key.asString() == node.attribute) {
            entry = value;
            return Flow::Next;
        }
    }
    entries.emplace_back(Value(node.attribute), value);
    return Flow::Next;
}

Flow Renderer::operator()(const MacroStatement& node) {
    const auto call = [&node, weakScope = std::weak_ptr<Scope>(m_scope),
                       budget = m_budget](const Arguments& arguments) {
        const auto defined = weakScope.lock(); // the frame holds the macro, not the other way round
        if (defined == nullptr) {
            throw TemplateError(fmt::format("the macro '{}' has left its scope", node.name));
        }
        arguments.expectAtMost(node.parameters.size());
        auto scope = std::make_shared<Scope>(defined);
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
    m_scope->set(node.name, Value(Function(call)));
    return Flow::Next;
}

} // namespace

std::string render(const Body& body, const ScopePtr& variables) {
    Renderer renderer(variables, std::make_shared<Budget>());
    renderer.run(body);
    return renderer.take();
}

} // namespace ecokv::jinja
