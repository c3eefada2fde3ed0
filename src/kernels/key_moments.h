#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// First and second moments of the keys of one layer, per head and per group of tokens (image tokens
// apart from text, say), on the keys as given and with their rotation undone: from these follow
// redundancies, anisotropy and the spectrum of every union of groups. Thread-safe.

#include "kernels/key_statistics.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ecokv::kernels {

/// Sums over the tokens of one group in one head, in fp64.
struct KeyMoments {
    std::int64_t tokens = 0, nonZero = 0; ///< M, and how many of them are not the zero key
    double norms = 0, squaredNorms = 0;   ///< sum |k|, sum |k|^2
    std::vector<double> key;              ///< [dim] sum of the keys
    std::vector<double> unit;             ///< [dim] sum of the keys' directions
    std::vector<double> scatter;          ///< [dim, dim] sum of (k - kbar)(k - kbar)^T
};

/// The moments of two groups together: exact, from the moments alone.
KeyMoments merged(const KeyMoments& a, const KeyMoments& b);
/// Redundancies, anisotropy, mean norm: the closed forms of ecokv-1. Zeros for no tokens.
HeadStatistics statisticsOf(const KeyMoments& moments);
/// (sum lambda)^2 / sum lambda^2 of the centred covariance, 1..dim; 0 where all keys are equal up
/// to rounding.
double participationRatioOf(const KeyMoments& moments);

struct KeyMomentsSetup {
    std::int64_t tokens = 0, dim = 0;
    const Rotation* rotation = nullptr;        ///< set: moments of the un-rotated keys as well
    std::span<const std::uint8_t> groups = {}; ///< [token] below groupCount; empty: all in group 0
    int groupCount = 1;
};

/// What is the same for every layer of a prompt: which tokens belong together and the angles of
/// their rotation. Copies what it is given; const calls from any thread.
class KeyMomentsPlan {
public:
    explicit KeyMomentsPlan(const KeyMomentsSetup& setup);

    struct Data; ///< moments_plan.h
    const Data& data() const { return *m_data; }

private:
    std::shared_ptr<const Data> m_data;
};

struct KeyMomentsOutput {
    std::vector<KeyMoments> post; ///< [kvHead, group] keys as given
    std::vector<KeyMoments> pre;  ///< [kvHead, group] un-rotated keys; empty without a rotation
};

/// `keys` [kvHead, token, dim] f32/bf16/f16 in host memory, of the plan's shape. A key with a NaN
/// or infinite component counts as the zero key. The covariance is centred first, its products are
/// fp32 over 256 rows and fp64 above. Backend::Cuda runs as Cpu.
Status keyMoments(const TensorView& keys, const KeyMomentsPlan& plan, KeyMomentsOutput& output,
                  Backend backend);

} // namespace ecokv::kernels
