#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Pixel shuffle towards fewer, wider features: each square of factor x factor neighbours becomes
// one, their values side by side, row after row (InternVL, Idefics3).

#include "model/aten.h"

#include <cstdint>

namespace ecokv::model {

/// features [side * side, hidden], rows of a square one after the other, to
/// [(side / factor)^2, factor^2 * hidden]. `side` must be a multiple of `factor`.
at::Tensor pixelShuffled(const at::Tensor& features, std::int64_t side, std::int64_t factor);

} // namespace ecokv::model
