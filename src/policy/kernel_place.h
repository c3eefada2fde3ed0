#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Where the kernels of one layer run: makes buffers there, brings them to the host and turns a
// status into a sentence that names the layer. A value; any thread.

#include "base/ids.h"
#include "kernels/device_memory.h"
#include "kernels/kernel_types.h"

#include <cstdint>
#include <vector>

namespace ecokv::policy {

struct KernelPlace {
    LayerId layer;
    kernels::Backend backend = kernels::Backend::Cpu;
    Device device; ///< of what the backend writes

    /// The place beside `tensor`, for work of `backend` on it.
    static KernelPlace beside(const TensorView& tensor, LayerId layer, kernels::Backend backend);

    /// Throws Error{BadInput}: "The <what> of layer 3 could not be computed: ...".
    void check(kernels::Status status, const char* what) const;
    /// Room for `count` f32.
    kernels::DeviceBuffer floats(std::int64_t count) const;
    std::vector<float> toHost(const kernels::DeviceBuffer& buffer) const;
};

} // namespace ecokv::policy
