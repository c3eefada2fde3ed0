// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/backends.h"
#include "kernels/row_access.h"
#include "kernels/spectrum.h"

#include <vector>

namespace ecokv::kernels::reference {

namespace {

/// Adds the outer product of the centred `row` [dim] to `scatter` [dim, dim].
void addOuter(const std::vector<float>& row, const std::vector<double>& mean,
              std::vector<double>& scatter) {
    const std::size_t dim = row.size();
    for (std::size_t i = 0; i < dim; ++i) {
        for (std::size_t j = 0; j < dim; ++j) {
            scatter[i * dim + j] +=
                (static_cast<double>(row[i]) - mean[i]) * (static_cast<double>(row[j]) - mean[j]);
        }
    }
}

} // namespace

Status participationRatio(const TensorView& keys, double* ratio) {
    const std::int64_t tokens = keys.shape[1];
    const auto dim = static_cast<std::size_t>(keys.shape[2]);
    std::vector<float> row(dim);
    for (std::int64_t head = 0; head < keys.shape[0]; ++head) {
        std::vector<double> mean(dim, 0.0);
        double squares = 0;
        for (std::int64_t token = 0; token < tokens; ++token) {
            readRow(keys, head, token, row.data());
            for (std::size_t i = 0; i < dim; ++i) {
                const double value = row[i];
                mean[i] += value / static_cast<double>(tokens);
                squares += value * value;
            }
        }
        std::vector<double> scatter(dim * dim, 0.0);
        for (std::int64_t token = 0; token < tokens; ++token) {
            readRow(keys, head, token, row.data());
            addOuter(row, mean, scatter);
        }
        ratio[head] = ratioOfScatter(scatter, dim, squares);
    }
    return Status::Ok;
}

} // namespace ecokv::kernels::reference
