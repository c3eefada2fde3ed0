#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Which backend works on which memory; the one place that knows. Pure functions, any thread.

#include "kernels/kernel_types.h"

namespace ecokv::kernels {

/// The product's backend for tensors on `device`; the reference is asked for by name only.
inline Backend backendFor(Device device) {
    return device.kind == DeviceKind::Cuda ? Backend::Cuda : Backend::Cpu;
}

/// Where the tensors of `backend` must live.
inline DeviceKind deviceKindOf(Backend backend) {
    return backend == Backend::Cuda ? DeviceKind::Cuda : DeviceKind::Cpu;
}

} // namespace ecokv::kernels
