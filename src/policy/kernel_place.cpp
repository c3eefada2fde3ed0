// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/kernel_place.h"

#include "base/error.h"

#include <fmt/format.h>

namespace ecokv::policy {

KernelPlace KernelPlace::beside(const TensorView& tensor, LayerId layer, kernels::Backend backend) {
    return {layer, backend, backend == kernels::Backend::Cuda ? tensor.device : Device{}};
}

void KernelPlace::check(kernels::Status status, const char* what) const {
    if (status == kernels::Status::Ok) {
        return;
    }
    const bool cuda = status == kernels::Status::CudaFailed;
    throwBadInput(fmt::format("The {} of layer {} could not be computed: {}{}.", what, layer.value,
                              kernels::statusText(status),
                              cuda ? " (" + kernels::lastCudaError() + ")" : std::string{}));
}

kernels::DeviceBuffer KernelPlace::floats(std::int64_t count) const {
    return {static_cast<std::size_t>(count) * sizeof(float), device};
}

std::vector<float> KernelPlace::toHost(const kernels::DeviceBuffer& buffer) const {
    std::vector<float> host(buffer.bytes() / sizeof(float));
    if (!host.empty()) {
        kernels::copyBytes(host.data(), Device{}, buffer.data(), device, buffer.bytes());
    }
    return host;
}

} // namespace ecokv::policy
