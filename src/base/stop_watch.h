#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Wall-clock time since it was made, in seconds. One thread at a time.

#include <chrono>

namespace ecokv {

class StopWatch {
public:
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - m_start).count();
    }

private:
    std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
};

} // namespace ecokv
