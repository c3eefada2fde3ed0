#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Layers with NaN or Inf in them: found after the fact, copied to the host and repaired, so that
// the usual layer pays nothing. A damaged row becomes a zero row, which the definition covers.

#include "kernels/device_memory.h"
#include "policy/layer_scores.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ecokv::policy {

/// The backend for work on host copies.
kernels::Backend hostBackend(kernels::Backend backend);

/// A tensor on the host: the given memory where it already is there, else a contiguous copy.
class HostTensor {
public:
    explicit HostTensor(const TensorView& tensor);
    const TensorView& view() const { return m_view; }

private:
    kernels::DeviceBuffer m_buffer;
    TensorView m_view;
};

/// [head, row, dim] f32/bf16/f16 on any device.
bool holdsOnlyFinite(const TensorView& rows);

/// A host copy of a layer's tensors whose rows with NaN or Inf are zero. Refers to the positions
/// and the rotation of `input`.
class FiniteInput {
public:
    explicit FiniteInput(const LayerInput& input);

    const LayerInput& input() const { return m_input; }
    /// "layer 3 head 1: 2 keys hold NaN or Inf, counted as zero"
    const std::vector<std::string>& notes() const { return m_notes; }

private:
    TensorView repaired(const TensorView& rows, const char* what);

    LayerInput m_input;
    std::vector<kernels::DeviceBuffer> m_buffers;
    std::vector<std::string> m_notes;
};

} // namespace ecokv::policy
