// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/key_sums.h"

#include "kernels/argument_checks.h"
#include "kernels/cpu/key_statistics_cpu.h"
#include "kernels/cpu/row_source.h"

namespace ecokv::kernels {

namespace {

constexpr std::int64_t kScalars = 3;

std::int64_t sizeOfVectors(std::int64_t dim, bool turned) {
    return (turned ? 4 : 2) * cpu::paddedDim(dim);
}

} // namespace

KeySums::KeySums(std::int64_t kvHeads, std::int64_t tokens, std::int64_t dim, bool turned)
    : m_kvHeads(kvHeads), m_vectorSize(sizeOfVectors(dim, turned)),
      m_capacity(tokens / kBlockTokens),
      m_vectors(static_cast<std::size_t>(kvHeads * m_capacity * m_vectorSize)),
      m_scalars(static_cast<std::size_t>(kvHeads * m_capacity * kScalars)),
      m_norm(static_cast<std::size_t>(kvHeads * m_capacity * kBlockTokens)) {}

std::size_t KeySums::bytes() const {
    return (m_vectors.size() + m_scalars.size()) * sizeof(double) + m_norm.size() * sizeof(float);
}

KeySums::Block KeySums::block(std::int64_t kvHead, std::int64_t index) {
    const std::int64_t at = kvHead * m_capacity + index;
    return {m_vectors.data() + at * m_vectorSize, m_scalars.data() + at * kScalars,
            m_norm.data() + at * kBlockTokens};
}

Status keyStatistics(const KeyStatisticsInput& input, const KeyStatisticsOutput& output,
                     KeySums& sums) {
    Status status = checkFloatTensor(input.keys, 3, Backend::Cpu);
    if (status == Status::Ok && input.rotation != nullptr) {
        status = checkRotation(*input.rotation, input.keys.shape[2]);
    }
    if (status != Status::Ok) {
        return status;
    }
    const bool fits =
        sums.kvHeads() == input.keys.shape[0] &&
        input.keys.shape[1] / KeySums::kBlockTokens <= sums.capacity() &&
        sums.vectorSize() == sizeOfVectors(input.keys.shape[2], input.rotation != nullptr);
    if (!fits || !output.cosine || !output.euclid || !output.norm || !output.heads) {
        return Status::BadShape;
    }
    return cpu::keyStatistics(input, output, &sums);
}

} // namespace ecokv::kernels
