// SPDX-License-Identifier: GPL-3.0-or-later
// Centre first, then one symmetric product per block of tokens; blocks are added in order.
#include "kernels/backends.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/scatter.h"
#include "kernels/spectrum.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ecokv::kernels::cpu {

namespace {

constexpr double kSmallest = 1e-20; ///< of |k|^2, for products in fp32
constexpr double kLargest = 1e30;
constexpr std::int64_t kMostBlocks = 8; ///< bounds the memory: one [dim, dim] fp64 matrix each

class HeadSpectrum {
public:
    explicit HeadSpectrum(const TensorView& keys)
        : m_keys(keys), m_tokens(keys.shape[1]), m_padded(paddedDim(keys.shape[2])),
          m_blocks(std::clamp<std::int64_t>((m_tokens + 1023) / 1024, 1, kMostBlocks)),
          m_sums(m_blocks * m_padded), m_squares(m_blocks), m_mean(m_padded),
          m_scatter(m_blocks * m_padded * m_padded),
          m_centred(maxThreads() * kScatterRows * m_padded),
          m_product(maxThreads() * m_padded * m_padded) {}

    /// NaN where the squares of the keys leave the range of fp32.
    double ratio(std::int64_t head) {
        std::fill_n(m_sums.data(), m_blocks * m_padded, 0.0);
        std::fill_n(m_scatter.data(), m_blocks * m_padded * m_padded, 0.0);
        parallelFor(m_blocks, m_tokens * m_padded, [&](std::int64_t b, int thread) {
            m_squares.data()[b] = addRowSums(block(head, b, thread), m_sums.slot(b, m_padded));
        });
        double squares = 0;
        for (std::int64_t b = 0; b < m_blocks; ++b) {
            squares += m_squares.data()[b];
        }
        const double meanSquare = squares / static_cast<double>(m_tokens);
        if (squares > 0 && !(meanSquare > kSmallest && meanSquare < kLargest)) {
            return std::numeric_limits<double>::quiet_NaN();
        }
        for (std::int64_t i = 0; i < m_padded; ++i) {
            double sum = 0;
            for (std::int64_t b = 0; b < m_blocks; ++b) {
                sum += m_sums.slot(b, m_padded)[i];
            }
            m_mean.data()[i] = static_cast<float>(sum / static_cast<double>(m_tokens));
        }
        parallelFor(m_blocks, m_tokens * m_padded * m_padded / 16, [&](std::int64_t b, int thread) {
            addScatter(block(head, b, thread), m_mean.data(),
                       m_scatter.slot(b, m_padded * m_padded));
        });
        return ratioOfScatter(combined(), static_cast<std::size_t>(m_keys.shape[2]), squares);
    }

private:
    ScatterBlock block(std::int64_t head, std::int64_t index, int thread) const {
        const std::int64_t size = (m_tokens + m_blocks - 1) / m_blocks;
        ScatterBlock result;
        result.rows = rowsOfHead(m_keys, head);
        result.begin = std::min(index * size, m_tokens);
        result.end = std::min(result.begin + size, m_tokens);
        result.centred = m_centred.slot(thread, kScatterRows * m_padded);
        result.product = m_product.slot(thread, m_padded * m_padded);
        return result;
    }

    /// The blocks added, the lower triangle mirrored from the upper one, padding dropped.
    std::vector<double> combined() const {
        const std::int64_t dim = m_keys.shape[2];
        std::vector<double> result(static_cast<std::size_t>(dim * dim));
        for (std::int64_t i = 0; i < dim; ++i) {
            for (std::int64_t j = i; j < dim; ++j) {
                double sum = 0;
                for (std::int64_t b = 0; b < m_blocks; ++b) {
                    sum += m_scatter.slot(b, m_padded * m_padded)[i * m_padded + j];
                }
                result[static_cast<std::size_t>(i * dim + j)] = sum;
                result[static_cast<std::size_t>(j * dim + i)] = sum;
            }
        }
        return result;
    }

    const TensorView& m_keys;
    std::int64_t m_tokens, m_padded, m_blocks;
    Scratch<double> m_sums, m_squares; ///< [block, padded], [block]
    Scratch<float> m_mean;
    Scratch<double> m_scatter;           ///< [block, padded, padded]
    Scratch<float> m_centred, m_product; ///< per thread
};

} // namespace

Status participationRatio(const TensorView& keys, double* ratio) {
    if (keys.shape[1] == 0) {
        std::fill_n(ratio, keys.shape[0], 0.0);
        return Status::Ok;
    }
    HeadSpectrum spectrum(keys);
    for (std::int64_t head = 0; head < keys.shape[0]; ++head) {
        ratio[head] = spectrum.ratio(head);
        if (!std::isfinite(ratio[head])) { // once more, in fp64
            const Status status =
                reference::participationRatio(keys.slice(0, head, head + 1), ratio + head);
            if (status != Status::Ok) {
                return status;
            }
        }
    }
    return Status::Ok;
}

} // namespace ecokv::kernels::cpu
