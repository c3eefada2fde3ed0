// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/allocator.h"

namespace ecokv::policy {

Allocator uniformAllocator() {
    Allocator allocator;
    allocator.info = {
        "uniform", "Every head of every layer keeps the same number of tokens.", "b = budget", "-",
        {},
    };
    return allocator;
}

} // namespace ecokv::policy
