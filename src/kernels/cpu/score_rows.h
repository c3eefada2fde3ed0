#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: the steps of the composite score over one row of host fp32, compiled once per
// instruction set in score_rows.cpp. Sums are fp64 in a fixed order.

#include "kernels/constant_rules.h"

#include <cstdint>

namespace ecokv::kernels::cpu {

Range finiteRange(const float* values, std::int64_t count);
double sumOf(const float* values, std::int64_t count);
/// values with 0 in place of NaN and infinities.
void copyFinite(const float* values, std::int64_t count, float* out);
/// out[i] = sum or maximum of padded[i .. i + kernel - 1], times `factor`.
void poolSum(const float* padded, std::int64_t count, int kernel, float factor, float* out);
void poolMax(const float* padded, std::int64_t count, int kernel, float* out);
/// (v - origin) / span for finite v, 0 for others.
void rescaleRow(const float* values, std::int64_t count, float origin, float span, float* out);
/// out[i] = a * x[i] + b * y[i]; `out` may be x.
void mixRows(float a, const float* x, float b, const float* y, std::int64_t count, float* out);

} // namespace ecokv::kernels::cpu
