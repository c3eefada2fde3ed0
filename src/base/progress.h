#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Progress of a long job as plain values; delivered on the thread that does the work.

#include <cstdint>
#include <functional>
#include <string>

namespace ecokv {

struct Progress {
    std::string stage;      ///< "Loading weights", "Prefill", "Decoding", ...
    std::int64_t done = 0;  ///< in `unit`
    std::int64_t total = 0; ///< 0 = unknown
    std::string unit;       ///< "layers", "tokens", "bytes"
};

using ProgressSink = std::function<void(const Progress&)>;

} // namespace ecokv
