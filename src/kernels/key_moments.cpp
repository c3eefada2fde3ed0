// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/key_moments.h"

#include "kernels/argument_checks.h"
#include "kernels/backends.h"
#include "kernels/head_statistics.h"
#include "kernels/moments_plan.h"

namespace ecokv::kernels {

namespace {

double squaredLength(const std::vector<double>& vector, double scale) {
    double sum = 0;
    for (const double value : vector) {
        sum += value * scale * value * scale;
    }
    return sum;
}

void add(std::vector<double>& to, const std::vector<double>& from) {
    for (std::size_t i = 0; i < to.size(); ++i) {
        to[i] += from[i];
    }
}

} // namespace

KeyMoments merged(const KeyMoments& a, const KeyMoments& b) {
    if (a.tokens == 0 || b.tokens == 0) {
        return a.tokens == 0 ? b : a;
    }
    KeyMoments both = a;
    both.tokens += b.tokens;
    both.nonZero += b.nonZero;
    both.norms += b.norms;
    both.squaredNorms += b.squaredNorms;
    add(both.key, b.key);
    add(both.unit, b.unit);
    add(both.scatter, b.scatter);
    // Each part is centred on its own mean: what lies between the means is still missing.
    const auto countA = static_cast<double>(a.tokens);
    const auto countB = static_cast<double>(b.tokens);
    const double weight = countA * countB / (countA + countB);
    const std::size_t dim = a.key.size();
    std::vector<double> apart(dim);
    for (std::size_t i = 0; i < dim; ++i) {
        apart[i] = a.key[i] / countA - b.key[i] / countB;
    }
    for (std::size_t i = 0; i < dim; ++i) {
        for (std::size_t j = 0; j < dim; ++j) {
            both.scatter[i * dim + j] += weight * apart[i] * apart[j];
        }
    }
    return both;
}

HeadStatistics statisticsOf(const KeyMoments& moments) {
    if (moments.tokens == 0) {
        return {};
    }
    const double share = 1.0 / static_cast<double>(moments.tokens);
    return finish({.tokens = moments.tokens,
                   .nonZero = moments.nonZero,
                   .norms = moments.norms,
                   .squaredNorms = moments.squaredNorms,
                   .centroidSquared = squaredLength(moments.key, share),
                   .directionSquared = squaredLength(moments.unit, share)});
}

double participationRatioOf(const KeyMoments& moments) {
    const std::size_t dim = moments.key.size();
    double trace = 0;
    double frobenius = 0;
    for (std::size_t i = 0; i < dim; ++i) {
        trace += moments.scatter[i * dim + i];
        for (std::size_t j = 0; j < dim; ++j) {
            frobenius += moments.scatter[i * dim + j] * moments.scatter[i * dim + j];
        }
    }
    // Beside the squared lengths of the keys a scatter may be mere rounding: then it has no
    // spectrum.
    constexpr double kNoise = 1e-12;
    const bool spreads = trace > kNoise * moments.squaredNorms && frobenius > 0;
    return spreads ? trace * trace / frobenius : 0.0;
}

Status keyMoments(const TensorView& keys, const KeyMomentsPlan& plan, KeyMomentsOutput& output,
                  Backend backend) {
    const KeyMomentsPlan::Data& data = plan.data();
    Status status = checkFloatTensor(keys, 3, Backend::Cpu);
    if (status == Status::Ok && (keys.shape[1] != data.tokens || keys.shape[2] != data.dim)) {
        status = Status::BadShape;
    }
    if (status != Status::Ok || data.status != Status::Ok) {
        return status != Status::Ok ? status : data.status;
    }
    const auto dim = static_cast<std::size_t>(data.dim);
    KeyMoments empty;
    empty.key.assign(dim, 0.0);
    empty.unit.assign(dim, 0.0);
    empty.scatter.assign(dim * dim, 0.0);
    const auto count = static_cast<std::size_t>(keys.shape[0] * data.groupCount);
    output.post.assign(count, empty);
    output.pre.assign(data.rotated ? count : 0, empty);
    if (count == 0 || data.tokens == 0) {
        return Status::Ok;
    }
    return backend == Backend::Reference ? reference::keyMoments(keys, plan, output)
                                         : cpu::keyMoments(keys, plan, output);
}

} // namespace ecokv::kernels
