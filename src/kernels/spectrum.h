#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: participation ratio from a scatter matrix (sum of centred outer products). Shared by
// all backends.

#include <cstddef>
#include <vector>

namespace ecokv::kernels {

/// trace^2 / |C|_F^2 of `scatter` [dim, dim]. `squares` is the sum of |k|^2: a scatter that is only
/// rounding noise beside it has no spectrum, and the ratio is 0.
inline double ratioOfScatter(const std::vector<double>& scatter, std::size_t dim, double squares) {
    double trace = 0;
    double frobenius = 0;
    for (std::size_t i = 0; i < dim; ++i) {
        trace += scatter[i * dim + i];
        for (std::size_t j = 0; j < dim; ++j) {
            frobenius += scatter[i * dim + j] * scatter[i * dim + j];
        }
    }
    constexpr double kNoise = 1e-12;
    return trace > kNoise * squares && frobenius > 0 ? trace * trace / frobenius : 0.0;
}

} // namespace ecokv::kernels
