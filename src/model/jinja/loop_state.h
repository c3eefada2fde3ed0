#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The variable `loop` of a for loop.

#include "model/jinja/value.h"

#include <cstdint>
#include <memory>

namespace ecokv::jinja {

class LoopState {
public:
    /// `outerLoop` is the enclosing loop's variable, null if there is none. `elements` must outlive
    /// this.
    LoopState(const List& elements, const Value* outerLoop);
    /// What `loop` is in round `index`.
    Value at(std::size_t index) const;

private:
    const List& m_elements;
    std::int64_t m_depth = 1;
    Value m_changed; ///< keeps what it was last called with
};

} // namespace ecokv::jinja
