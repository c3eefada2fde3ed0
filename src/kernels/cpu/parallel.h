#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: loops over blocks on the threads that OpenMP was set to use. Blocks have fixed sizes
// and their results are combined in block order, so that no result depends on the number of
// threads.

#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace ecokv::kernels::cpu {

/// Upper bound of the thread index that `parallelFor` passes on.
inline int maxThreads() {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/// Elements touched or multiplied below which waking the threads costs more than it gives.
constexpr std::int64_t kWorthThreads = 1 << 18;

/// Calls body(index, thread) for 0 <= index < count; neighbouring indices on one thread. `work` is
/// the size of all of it in elements. `body` must not throw.
template <class Body>
void parallelFor(std::int64_t count, [[maybe_unused]] std::int64_t work, const Body& body) {
#ifdef _OPENMP
#pragma omp parallel for schedule(static) if (count > 1 && work >= kWorthThreads)
    for (std::int64_t index = 0; index < count; ++index) {
        body(index, omp_get_thread_num());
    }
#else
    for (std::int64_t index = 0; index < count; ++index) {
        body(index, 0);
    }
#endif
}

} // namespace ecokv::kernels::cpu
