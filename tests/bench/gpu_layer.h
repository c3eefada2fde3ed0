#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// One decoder layer in GPU memory as the GPU benchmarks see it: bf16 keys, values and window
// queries in enough copies to outgrow the caches, and our launchers on them. One thread drives.

#include "kernels/composite_score.h"
#include "kernels/key_statistics.h"
#include "kernels/window_importance.h"

#include <ATen/ATen.h>

#include <array>
#include <vector>

namespace ecokv::bench {

constexpr std::int64_t kGpuHeads = 8;
constexpr std::int64_t kGpuGroup = 4;
constexpr std::int64_t kGpuDim = 128;
constexpr std::int64_t kGpuWindow = 32;

/// [1, a, b, c] bf16 in GPU or host memory as [a, b, c].
TensorView bf16View(const at::Tensor& tensor);

/// What scoring a layer gives, f32 tensors on one device.
struct ScoredLayer {
    explicit ScoredLayer(std::int64_t tokens, at::Device device);

    at::Tensor cosine, euclid, norm, attention; ///< [kvHead, token]
    at::Tensor out;                             ///< [5, kvHead, token] as compositeScore orders it
    std::array<kernels::HeadStatistics, kGpuHeads> heads{};
    std::array<std::uint8_t, 3 * kGpuHeads> constant{};
};

struct GpuLayer {
    /// `copies` keys and values; 0 = enough for 256 MiB of keys.
    explicit GpuLayer(std::int64_t tokenCount, std::int64_t copies = 0);

    const at::Tensor& key(int round) const {
        return keys[static_cast<std::size_t>(round) % keys.size()];
    }
    const at::Tensor& value(int round) const {
        return values[static_cast<std::size_t>(round) % values.size()];
    }
    double keyBytes() const { return static_cast<double>(kGpuHeads * tokens * kGpuDim * 2); }

    kernels::KeyStatisticsInput statisticsInput(const at::Tensor& rows) const;
    kernels::KeyStatisticsOutput statisticsOutput(ScoredLayer& to) const;
    kernels::WindowImportanceInput importanceInput(const at::Tensor& rows,
                                                   const at::Tensor& windowQueries) const;
    kernels::CompositeScoreInput compositeInput(const ScoredLayer& from);
    kernels::CompositeScoreOutput compositeOutput(ScoredLayer& to) const;

    /// Every launcher of one layer on the copy `round`, as the policies call them.
    void score(int round, ScoredLayer& to);
    /// The same on the host, on a copy of the keys.
    ScoredLayer scoreOnHost(int round);

    std::int64_t tokens;
    std::vector<at::Tensor> keys, values; ///< [1, kvHead, token, dim] bf16
    at::Tensor queries;                   ///< [1, head, window, dim] bf16
    std::vector<std::int64_t> positions;  ///< [token]

private:
    void scoreWith(const at::Tensor& rows, const at::Tensor& windowQueries, ScoredLayer& to,
                   kernels::Backend backend);

    std::array<double, kGpuHeads> m_redundancy{}, m_meanSquare{};
};

} // namespace ecokv::bench
