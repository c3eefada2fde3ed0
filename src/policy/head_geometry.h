#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What the keys of each head of a layer look like: how alike they are, how many directions they
// use, with and without their rotation, image tokens and text tokens apart (ecokv-1, "Geometry
// shown next to it"). Host values in fp64; thread-safe.

#include "base/ids.h"
#include "base/tensor_view.h"
#include "kernels/key_moments.h"
#include "policy/policy_config.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ecokv::policy {

/// Token kinds as prompts and traces number them.
inline constexpr std::uint8_t kImageKind = 2;

/// One set of keys. All NaN (and the spectrum empty) where the set holds no token.
struct SubsetGeometry {
    std::int64_t tokens = 0;       ///< M
    double redundancyCosine = 0;   ///< r_cos
    double redundancyEuclid = 0;   ///< r_euc
    double anisotropy = 0;         ///< |mu|, mean of the unit keys, 0..1
    double meanKeyNorm = 0;        ///< mean |k|
    double participationRatio = 0; ///< effective dimensions, 1..dim; 0 = all keys equal
    std::vector<double> spectrum;  ///< [dim] eigenvalues of the covariance, largest first
};

struct HeadGeometry {
    SubsetGeometry all;   ///< the candidates
    SubsetGeometry image; ///< every image token, protected ones too
    SubsetGeometry text;  ///< every other token, special and protected ones too: questions often
                          ///< stand at the end, where a policy protects them
};

struct LayerGeometry {
    std::vector<HeadGeometry> post; ///< [kvHead] keys as cached
    std::vector<HeadGeometry> pre;  ///< [kvHead] rotation undone; empty without a rotation
};

/// Which spectra to compute: they cost an eigendecomposition each.
enum class Spectra : std::uint8_t { None, All, EverySubset };

struct GeometrySetup {
    std::int64_t tokens = 0, dim = 0;
    std::optional<TokenRange> candidates = {}; ///< unset: every token
    std::span<const std::uint8_t> kinds = {};  ///< [token] 0 text, 1 special, 2 image; empty: text
    const kernels::Rotation* rotation = nullptr; ///< positions [token]; null: post alone
};

/// What the keys of a layer were reduced to; independent of the keys from then on.
struct LayerMoments {
    kernels::KeyMomentsOutput sums; ///< [kvHead, group of tokens]
};

/// The spectrum is that of (1/M) sum (k - kbar)(k - kbar)^T: its sum is m2 - |kbar|^2. M = 1 has
/// redundancy 0 and a spectrum of zeros.
LayerGeometry geometryOf(const LayerMoments& moments, Spectra spectra);

/// Measures layer after layer of one prompt; what does not change between layers is computed once.
/// Copies what it is given.
class GeometryMeter {
public:
    explicit GeometryMeter(const GeometrySetup& setup);

    /// `keys` [kvHead, token, dim] f32/bf16/f16 in host memory. A key that is not finite counts as
    /// the zero key. Throws Error{BadInput} naming the layer.
    LayerMoments moments(LayerId layer, const TensorView& keys,
                         kernels::Backend backend = kernels::Backend::Cpu) const;
    LayerGeometry measure(LayerId layer, const TensorView& keys, Spectra spectra) const {
        return geometryOf(moments(layer, keys), spectra);
    }

private:
    kernels::KeyMomentsPlan m_plan;
};

} // namespace ecokv::policy
