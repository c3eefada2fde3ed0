// SPDX-License-Identifier: GPL-3.0-or-later
// Sums as they are written down, in fp64, one key at a time: means first, then the scatter.
#include "kernels/backends.h"
#include "kernels/moments_plan.h"
#include "kernels/rotation.h"
#include "kernels/row_access.h"

#include <cmath>
#include <vector>

namespace ecokv::kernels::reference {

namespace {

using Row = std::vector<double>;

/// A key, un-rotated if `rotation` is set.
Row keyOf(const TensorView& keys, const Rotation* rotation, std::int64_t head, std::int64_t token) {
    std::vector<float> buffer(static_cast<std::size_t>(keys.shape[2]));
    readRow(keys, head, token, buffer.data());
    Row row(buffer.begin(), buffer.end());
    if (rotation != nullptr) {
        const std::int64_t pairs = rotation->pairsOf(keys.shape[2]);
        Row cosines(static_cast<std::size_t>(pairs));
        Row sines(static_cast<std::size_t>(pairs));
        rotationRow(*rotation, token, pairs, cosines.data(), sines.data());
        unrotateRow(rotation->style, pairs, cosines.data(), sines.data(), row.data());
    }
    return row;
}

void addKey(const Row& row, KeyMoments& moments) {
    double square = 0;
    for (const double value : row) {
        square += value * value;
    }
    const double norm = std::sqrt(square);
    ++moments.tokens;
    moments.nonZero += norm > 0 ? 1 : 0;
    moments.norms += norm;
    moments.squaredNorms += square;
    for (std::size_t i = 0; i < row.size(); ++i) {
        moments.key[i] += row[i];
        moments.unit[i] += norm > 0 ? row[i] / norm : 0.0;
    }
}

void addScatter(Row row, KeyMoments& moments) {
    const std::size_t dim = row.size();
    for (std::size_t i = 0; i < dim; ++i) {
        row[i] -= moments.key[i] / static_cast<double>(moments.tokens);
    }
    for (std::size_t i = 0; i < dim; ++i) {
        for (std::size_t j = 0; j < dim; ++j) {
            moments.scatter[i * dim + j] += row[i] * row[j];
        }
    }
}

/// `moments` [group] of one head; un-rotated keys if `rotation` is set.
void measureHead(const TensorView& keys, const KeyMomentsPlan::Data& plan, const Rotation* rotation,
                 std::int64_t head, KeyMoments* moments) {
    for (std::int64_t token = 0; token < plan.tokens; ++token) {
        addKey(keyOf(keys, rotation, head, token),
               moments[plan.groups[static_cast<std::size_t>(token)]]);
    }
    for (std::int64_t token = 0; token < plan.tokens; ++token) {
        addScatter(keyOf(keys, rotation, head, token),
                   moments[plan.groups[static_cast<std::size_t>(token)]]);
    }
}

} // namespace

Status keyMoments(const TensorView& keys, const KeyMomentsPlan& plan, KeyMomentsOutput& output) {
    const KeyMomentsPlan::Data& data = plan.data();
    for (std::int64_t head = 0; head < keys.shape[0]; ++head) {
        const std::int64_t first = head * data.groupCount;
        measureHead(keys, data, nullptr, head, output.post.data() + first);
        if (data.rotated) {
            measureHead(keys, data, &data.rotation, head, output.pre.data() + first);
        }
    }
    return Status::Ok;
}

} // namespace ecokv::kernels::reference
