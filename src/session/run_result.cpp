// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/run_result.h"

#include <algorithm>

namespace ecokv::session {

std::uint64_t CacheHistory::peakBytes() const {
    return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

} // namespace ecokv::session
