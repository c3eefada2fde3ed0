#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The variable `loop` of a for loop.

#include "model/jinja/value.h"

#include <cstdint>
#include <memory>

namespace ecokv::jinja {

class LoopState {
public:
    /// `elements` must outlive this.
    explicit LoopState(const List& elements);
    /// What `loop` is in round `index`.
    Value at(std::size_t index) const;

private:
    const List& m_elements;
    Value m_changed; ///< keeps what it was last called with
};

} // namespace ecokv::jinja
