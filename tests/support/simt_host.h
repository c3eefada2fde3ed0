#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The SIMT shim: runs kernel source on the host, the threads of a block as fibers with barriers and
// warp exchanges. A barrier that some thread of the group never reaches is an error, as is reading
// another lane that does not take part. One host thread; blocks run one after the other.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace ecokv::kernels::simt {

int thread();
int threads();
int blockX();
int blockY();
void sync();
double exchange(double value, int mask);
float exchange(float value, int mask);
/// Copies `bytes` at `mine` of every lane of the warp to `all`, in the order of the lanes.
void gather(const void* mine, std::size_t bytes, void* all);

int take(int* counter);
void publish(int* flag);
/// Blocks run in order, so what is waited for must have happened; std::logic_error else.
void await(const int* flag);

/// Runs `body` once per thread of every block of a grid x by y. Throws std::logic_error on a
/// barrier that can never be passed.
void launchOnHost(std::int64_t x, std::int64_t y, int threads, const std::function<void()>& body);

} // namespace ecokv::kernels::simt
