#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Rotary embeddings of every kind for kernel tests, and keys rotated by their formula in double:
// x cos(p f) - y sin(p f), y cos(p f) + x sin(p f), times the scaling; dims behind the pairs stay.

#include "kernels/host_tensor.h"
#include "kernels/kernel_types.h"

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

namespace ecokv::test {

enum class Axes : std::uint8_t {
    One,         ///< positions of text
    Chunked,     ///< runs of pairs for time, rows, columns (Qwen2-VL)
    Interleaved, ///< t, h, w, t, h, w, ... (Qwen3-VL)
};

struct RopeKind {
    kernels::RopeStyle style = kernels::RopeStyle::Half;
    std::int64_t dim = 0, pairs = 0; ///< pairs 0 = dim / 2
    Axes axes = Axes::One;
    float scaling = 1.0F;
};

inline std::ostream& operator<<(std::ostream& out, const RopeKind& kind) {
    return out << (kind.style == kernels::RopeStyle::Half ? "half" : "interleaved") << " pairs "
               << kind.pairs << " of dim " << kind.dim << ", axes " << static_cast<int>(kind.axes)
               << ", scaling " << kind.scaling;
}

/// Both styles x all, some and an odd number of pairs x axes x scaling.
inline std::vector<RopeKind> ropeKinds(std::int64_t dim) {
    std::vector<RopeKind> kinds;
    for (const auto style : {kernels::RopeStyle::Half, kernels::RopeStyle::Interleaved}) {
        for (const std::int64_t pairs : {std::int64_t{0}, dim / 4, dim / 4 - 3}) {
            for (const Axes axes : {Axes::One, Axes::Chunked, Axes::Interleaved}) {
                for (const float scaling : {1.0F, 1.25F}) {
                    kinds.push_back({style, dim, pairs, axes, scaling});
                }
            }
        }
    }
    return kinds;
}

/// A rope of that kind over a prompt of text, a picture of rows x columns, and text behind it; owns
/// what its rotation points to.
struct TestRope {
    std::vector<float> frequencies;
    std::vector<std::int64_t> positions;
    std::vector<std::uint8_t> axes;
    std::vector<std::array<std::int32_t, 3>> axisPositions;
    kernels::Rotation rotation;

    TestRope(const RopeKind& kind, std::int64_t tokens) {
        rotation.style = kind.style;
        rotation.pairs = kind.pairs;
        rotation.attentionScaling = kind.scaling;
        const std::int64_t pairs = rotation.pairsOf(kind.dim);
        for (std::int64_t i = 0; i < pairs; ++i) {
            frequencies.push_back(
                std::pow(10000.0F, -static_cast<float>(i) / static_cast<float>(pairs)));
        }
        rotation.inverseFrequencies = frequencies.data();
        if (kind.axes == Axes::One) {
            for (std::int64_t token = 0; token < tokens; ++token) {
                positions.push_back(7 + 3 * token);
            }
            rotation.positions = positions.data();
            return;
        }
        for (std::int64_t i = 0; i < pairs; ++i) {
            const std::int64_t chunk = i < pairs / 4 ? 0 : (i < pairs * 5 / 8 ? 1 : 2);
            axes.push_back(static_cast<std::uint8_t>(kind.axes == Axes::Chunked ? chunk : i % 3));
        }
        placeTokens(tokens);
        rotation.axes = axes.data();
        rotation.axisPositions = axisPositions.data();
    }
    TestRope(const TestRope&) = delete;
    TestRope& operator=(const TestRope&) = delete;

    double angle(std::int64_t token, std::int64_t pair) const {
        const auto t = static_cast<std::size_t>(token), p = static_cast<std::size_t>(pair);
        const float position = axisPositions.empty()
                                   ? static_cast<float>(positions[t])
                                   : static_cast<float>(axisPositions[t][axes[p]]);
        return static_cast<double>(position * frequencies[p]);
    }

    /// float32 keys of the same shape, rotated.
    HostTensor rotated(const HostTensor& plain) const {
        const TensorView shape = plain.view();
        HostTensor turned(DType::F32, shape.shape[0], shape.shape[1], shape.shape[2]);
        turned.fill([&](auto head, auto token, auto i) { return plain.get(head, token, i); });
        const auto pairs = static_cast<std::int64_t>(frequencies.size());
        const bool half = rotation.style == kernels::RopeStyle::Half;
        const auto scaling = static_cast<double>(rotation.attentionScaling);
        for (std::int64_t head = 0; head < shape.shape[0]; ++head) {
            for (std::int64_t token = 0; token < shape.shape[1]; ++token) {
                for (std::int64_t pair = 0; pair < pairs; ++pair) {
                    const std::int64_t a = half ? pair : 2 * pair;
                    const std::int64_t b = half ? pair + pairs : 2 * pair + 1;
                    const double x = plain.get(head, token, a), y = plain.get(head, token, b);
                    const double c = std::cos(angle(token, pair)), s = std::sin(angle(token, pair));
                    turned.set(head, token, a, static_cast<float>(scaling * (x * c - y * s)));
                    turned.set(head, token, b, static_cast<float>(scaling * (y * c + x * s)));
                }
            }
        }
        return turned;
    }

private:
    void placeTokens(std::int64_t tokens) {
        constexpr std::int64_t kBefore = 5, kColumns = 7;
        const std::int64_t rows = std::max<std::int64_t>((tokens - 2 * kBefore) / kColumns, 0);
        for (std::int64_t token = 0; token < tokens; ++token) {
            const std::int64_t inPicture = token - kBefore;
            std::array<std::int64_t, 3> at{token, token, token};
            if (inPicture >= 0 && inPicture < rows * kColumns) {
                at = {kBefore, kBefore + inPicture / kColumns, kBefore + inPicture % kColumns};
            } else if (inPicture >= 0) {
                at.fill(token - rows * kColumns + std::max(rows, kColumns));
            }
            axisPositions.push_back({static_cast<std::int32_t>(at[0]),
                                     static_cast<std::int32_t>(at[1]),
                                     static_cast<std::int32_t>(at[2])});
        }
    }
};

} // namespace ecokv::test
