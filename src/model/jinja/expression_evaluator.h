#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Computes expressions in a scope. Every error leaves as TemplateError with the position of the
// expression it came from.

#include "model/jinja/ast.h"
#include "model/jinja/scope.h"

#include <cstdint>

namespace ecokv::jinja {

/// What a rendering may spend, so that a hostile template ends with a sentence.
struct Budget {
    std::int64_t steps = 2'000'000;
    int depth = 200; ///< of nested macro calls

    void spend(); ///< throws TemplateError
};

class ExpressionEvaluator {
public:
    ExpressionEvaluator(const Scope& scope, Budget& budget) : m_scope(scope), m_budget(budget) {}

    Value evaluate(const Expression& expression) const;
    /// `call`, a Call, with `caller` as one more named argument.
    Value callWith(const Expression& call, const Value& caller) const;
    /// Applies a chain of FilterCall without input, as `{% filter %}` has.
    Value applyFilters(const std::vector<ExpressionPtr>& filters, Value input) const;

    Value operator()(const Literal& node) const { return node.value; }
    Value operator()(const Name& node) const;
    Value operator()(const ListLiteral& node) const;
    Value operator()(const MapLiteral& node) const;
    Value operator()(const AttributeAccess& node) const;
    Value operator()(const ItemAccess& node) const;
    Value operator()(const SliceAccess& node) const;
    Value operator()(const Call& node) const;
    Value operator()(const FilterCall& node) const;
    Value operator()(const TestCall& node) const;
    Value operator()(const Unary& node) const;
    Value operator()(const Binary& node) const;
    Value operator()(const Logic& node) const;
    Value operator()(const Comparison& node) const;
    Value operator()(const Conditional& node) const;

private:
    Value call(const Call& node, const Value* caller) const;
    Value evaluateOptional(const ExpressionPtr& expression) const;
    Arguments evaluateArguments(const CallArguments& arguments) const;

    const Scope& m_scope;
    Budget& m_budget;
};

} // namespace ecokv::jinja
