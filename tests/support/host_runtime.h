#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The Runtime of src/kernels/cuda/steps.h on the SIMT shim: "device" memory is host memory with a
// guard behind each block, so that a kernel that writes past its scratch is caught.

#include "kernels/cuda/steps.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace ecokv::kernels::cuda {

class HostRuntime {
public:
    template <class T> T* scratch(std::int64_t count) {
        const auto bytes = static_cast<std::size_t>(count > 0 ? count : 1) * sizeof(T);
        m_memory.emplace_back(bytes + kGuardBytes, std::byte{0xAB});
        std::memset(m_memory.back().data(), 0xFF, bytes); // NaN: nothing may rely on zeros
        m_sizes.push_back(bytes);
        return reinterpret_cast<T*>(m_memory.back().data());
    }

    template <class T> void upload(T* to, const T* from, std::int64_t count) {
        std::copy_n(from, count, to);
    }

    template <class T> void download(T* to, const T* from, std::int64_t count) {
        std::copy_n(from, count, to);
    }

    template <class... Parameters>
    void launch(void (*kernel)(Parameters...), Grid grid, int threads,
                std::type_identity_t<Parameters>... arguments) {
        simt::launchOnHost(grid.x, grid.y, threads, [&] { kernel(arguments...); });
        checkGuards();
    }

    Status status() const { return Status::Ok; }

private:
    static constexpr std::size_t kGuardBytes = 64;

    void checkGuards() const {
        for (std::size_t i = 0; i < m_memory.size(); ++i) {
            for (std::size_t at = m_sizes[i]; at < m_memory[i].size(); ++at) {
                if (m_memory[i][at] != std::byte{0xAB}) {
                    throw std::logic_error("a kernel wrote behind its scratch memory");
                }
            }
        }
    }

    std::vector<std::vector<std::byte>> m_memory; // std::vector memory is aligned for double
    std::vector<std::size_t> m_sizes;
};

} // namespace ecokv::kernels::cuda
