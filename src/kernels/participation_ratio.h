#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Participation ratio of the key spectrum of each head: (sum lambda)^2 / sum lambda^2 of the
// centred covariance, computed as trace^2 / |C|_F^2 without an eigendecomposition. Thread-safe.

#include "kernels/kernel_types.h"

namespace ecokv::kernels {

/// `keys` [kvHead, token, dim] on the host; `ratio` [kvHead] f64, between 1 and dim, 0 where all
/// keys are equal up to rounding. A key with a NaN or infinite component counts as the zero key.
Status participationRatio(const TensorView& keys, double* ratio, Backend backend);

} // namespace ecokv::kernels
