// SPDX-License-Identifier: GPL-3.0-or-later
// The formulas of ecokv-1 as they stand, in fp64: three passes over the keys, centroid first.
#include "kernels/backends.h"
#include "kernels/head_statistics.h"
#include "kernels/rotation.h"
#include "kernels/row_access.h"

#include <cmath>
#include <vector>

namespace ecokv::kernels::reference {

namespace {

using Row = std::vector<double>;

double dot(const Row& a, const Row& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

/// Unit vector of a key; the zero key stays zero.
Row unit(const Row& key) {
    const double norm = std::sqrt(dot(key, key));
    Row result(key.size(), 0.0);
    for (std::size_t i = 0; norm > 0 && i < key.size(); ++i) {
        result[i] = key[i] / norm;
    }
    return result;
}

std::vector<Row> readKeys(const TensorView& keys, std::int64_t head) {
    std::vector<float> buffer(static_cast<std::size_t>(keys.shape[2]));
    std::vector<Row> rows;
    for (std::int64_t token = 0; token < keys.shape[1]; ++token) {
        readRow(keys, head, token, buffer.data());
        rows.emplace_back(buffer.begin(), buffer.end());
    }
    return rows;
}

std::vector<Row> unrotated(std::vector<Row> rows, const Rotation& rotation) {
    for (std::size_t token = 0; token < rows.size(); ++token) {
        const auto count = rotation.pairsOf(std::ssize(rows[token]));
        Row cosines(static_cast<std::size_t>(count));
        Row sines(static_cast<std::size_t>(count));
        rotationRow(rotation, static_cast<std::int64_t>(token), count, cosines.data(),
                    sines.data());
        unrotateRow(rotation.style, count, cosines.data(), sines.data(), rows[token].data());
    }
    return rows;
}

Row meanOf(const std::vector<Row>& rows, std::size_t dim) {
    Row mean(dim, 0.0);
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < dim; ++i) {
            mean[i] += row[i] / static_cast<double>(rows.size());
        }
    }
    return mean;
}

std::vector<Row> unitsOf(const std::vector<Row>& rows) {
    std::vector<Row> units;
    for (const Row& row : rows) {
        units.push_back(unit(row));
    }
    return units;
}

HeadStatistics headStatistics(const std::vector<Row>& keys, std::size_t dim, float* norms) {
    HeadSums sums;
    sums.tokens = static_cast<std::int64_t>(keys.size());
    const Row centroid = meanOf(keys, dim);
    const Row direction = meanOf(unitsOf(keys), dim);
    for (std::size_t token = 0; token < keys.size(); ++token) {
        const double squared = dot(keys[token], keys[token]);
        sums.squaredNorms += squared;
        sums.norms += std::sqrt(squared);
        sums.nonZero += squared > 0 ? 1 : 0;
        norms[token] = saturated(std::sqrt(squared));
    }
    sums.centroidSquared = dot(centroid, centroid);
    sums.directionSquared = dot(direction, direction);
    return finish(sums);
}

} // namespace

Status keyStatistics(const KeyStatisticsInput& input, const KeyStatisticsOutput& output) {
    const std::int64_t tokens = input.keys.shape[1];
    const auto dim = static_cast<std::size_t>(input.keys.shape[2]);
    for (std::int64_t head = 0; head < input.keys.shape[0]; ++head) {
        std::vector<Row> keys = readKeys(input.keys, head);
        output.heads[head] = headStatistics(keys, dim, output.norm + head * tokens);
        if (input.rotation != nullptr) {
            keys = unrotated(std::move(keys), *input.rotation);
        }
        const std::vector<Row> units = unitsOf(keys);
        const Row direction = meanOf(units, dim);
        const Row centroid = meanOf(keys, dim);
        for (std::int64_t token = 0; token < tokens; ++token) {
            const auto row = static_cast<std::size_t>(token);
            Row offset = keys[row];
            for (std::size_t i = 0; i < dim; ++i) {
                offset[i] -= centroid[i];
            }
            output.cosine[head * tokens + token] = static_cast<float>(dot(units[row], direction));
            output.euclid[head * tokens + token] = saturated(std::sqrt(dot(offset, offset)));
        }
    }
    return Status::Ok;
}

} // namespace ecokv::kernels::reference
