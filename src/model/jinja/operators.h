#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Operators of templates on values, with Python's rules. Throw TemplateError without a position.

#include "model/jinja/value.h"

#include <string>

namespace ecokv::jinja {

/// + - * / // % ** ~
Value applyBinary(const std::string& op, const Value& left, const Value& right);
Value applyUnary(const std::string& op, const Value& operand);
/// == != < > <= >= in, not in
bool compare(const std::string& op, const Value& left, const Value& right);
/// Negative, zero or positive; numbers, strings and lists have an order.
int order(const Value& left, const Value& right);

/// object[key]; Undefined if there is no such element.
Value item(const Value& object, const Value& key);
/// object[begin:end:step] of a list or a string; Undefined bounds are left out.
Value slice(const Value& object, const Value& begin, const Value& end, const Value& step);

} // namespace ecokv::jinja
