#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The Runtime of steps.h on a GPU: stream-ordered scratch memory, copies, launches. The first
// failure sticks and is reported by status(); its text by lastCudaError(). One use per launcher
// call.

#include "kernels/cuda/cuda_error.h"
#include "kernels/cuda/device_pool.h"
#include "kernels/cuda/steps.h"

#include <cuda_runtime_api.h>

#include <type_traits>
#include <vector>

namespace ecokv::kernels::cuda {

class CudaRuntime {
public:
    CudaRuntime(int device, Stream stream) : m_stream(static_cast<cudaStream_t>(stream)) {
        check(cudaSetDevice(device));
    }
    ~CudaRuntime() {
        for (void* memory : m_scratch) {
            poolRelease(memory, m_stream);
        }
    }
    CudaRuntime(const CudaRuntime&) = delete;
    CudaRuntime& operator=(const CudaRuntime&) = delete;

    template <class T> T* scratch(std::int64_t count) {
        void* memory = nullptr;
        const std::int64_t bytes = (count > 0 ? count : 1) * static_cast<std::int64_t>(sizeof(T));
        check(poolAllocate(&memory, static_cast<std::size_t>(bytes), m_stream));
        if (memory != nullptr) {
            m_scratch.push_back(memory);
        }
        return static_cast<T*>(memory);
    }

    template <class T> void upload(T* to, const T* from, std::int64_t count) {
        copy(to, from, count, cudaMemcpyHostToDevice);
    }

    /// Waits, so that the host may read at once.
    template <class T> void download(T* to, const T* from, std::int64_t count) {
        copy(to, from, count, cudaMemcpyDeviceToHost);
        if (m_status == Status::Ok) {
            check(cudaStreamSynchronize(m_stream));
        }
    }

    template <class... Parameters>
    void launch(void (*kernel)(Parameters...), Grid grid, int threads,
                std::type_identity_t<Parameters>... arguments) {
        if (m_status != Status::Ok) {
            return;
        }
        const dim3 blocks(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y));
        kernel<<<blocks, static_cast<unsigned>(threads), 0, m_stream>>>(arguments...);
        check(cudaGetLastError());
    }

    Status status() const { return m_status; }

private:
    void check(cudaError_t result) {
        if (m_status == Status::Ok && failed(result)) {
            m_status = Status::CudaFailed;
        }
    }

    template <class T>
    void copy(T* to, const T* from, std::int64_t count, cudaMemcpyKind direction) {
        if (m_status == Status::Ok && count > 0) {
            check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(T), direction,
                                  m_stream));
        }
    }

    cudaStream_t m_stream;
    Status m_status = Status::Ok;
    std::vector<void*> m_scratch;
};

} // namespace ecokv::kernels::cuda
