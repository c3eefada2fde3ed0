#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What the kernels measure on one layer, in three parts that depend on different settings, so that
// replay can keep each for as long as its settings stay: keys (candidates, geometry), window
// attention (window), values (nothing). Immutable once made; any thread may read them.

#include "kernels/key_statistics.h"
#include "policy/kernel_place.h"
#include "policy/layer_scores.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ecokv::policy {

/// Geometry of the keys of one layer over the candidates.
struct KeyMeasurement {
    KernelPlace place;
    std::int32_t firstHead = 0;
    std::int64_t kvHeads = 0, tokens = 0;
    TokenRange candidates;
    Geometry geometry = Geometry::Post;
    std::vector<kernels::HeadStatistics> heads; ///< [kvHead]
    std::vector<float> norm;                    ///< [kvHead, token] |k|, protected tokens too
    kernels::DeviceBuffer cosine;               ///< [kvHead, candidate] f32: c
    kernels::DeviceBuffer euclid;               ///< [kvHead, candidate] f32: e
    std::vector<std::string> notes;             ///< damaged keys

    std::vector<float> cosineOnHost() const { return place.toHost(cosine); }
    std::vector<float> euclidOnHost() const { return place.toHost(euclid); }
    std::size_t bytes() const;
};

/// Attention of the last `window` query rows.
struct WindowMeasurement {
    KernelPlace place;
    std::int64_t window = 0;
    kernels::DeviceBuffer attention; ///< [kvHead, token] f32: A, not pooled
    std::vector<std::string> notes;  ///< damaged query rows

    std::vector<float> attentionOnHost() const { return place.toHost(attention); }
    std::size_t bytes() const;
};

/// Value norms.
struct ValueMeasurement {
    KernelPlace place;
    bool present = false;           ///< false: the input has no values and `norm` is NaN
    std::vector<float> norm;        ///< [kvHead, token] |v|
    kernels::DeviceBuffer onDevice; ///< [kvHead, token] f32, empty without values
    std::vector<std::string> notes; ///< damaged values

    std::size_t bytes() const;
};

/// Each checks the tensors it reads and throws Error{BadInput} naming the layer. `candidates` must
/// lie inside the tokens; geometry Pre needs `input.rotation`.
std::shared_ptr<const KeyMeasurement> measureKeys(const LayerInput& input, TokenRange candidates,
                                                  Geometry geometry, kernels::Backend backend);
std::shared_ptr<const WindowMeasurement> measureWindow(const LayerInput& input, std::int64_t window,
                                                       kernels::Backend backend);
std::shared_ptr<const ValueMeasurement> measureValues(const LayerInput& input,
                                                      kernels::Backend backend);

} // namespace ecokv::policy
