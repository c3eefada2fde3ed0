#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Typed indices, so that a layer is never passed where a head is wanted. All count from 0.

#include <compare>
#include <cstddef>
#include <cstdint>

namespace ecokv {

template <class Tag, class Rep> struct Id {
    Rep value{};

    constexpr auto operator<=>(const Id&) const = default;
    constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
};

using LayerId = Id<struct LayerTag, std::int32_t>;  ///< decoder layer
using HeadId = Id<struct HeadTag, std::int32_t>;    ///< KV head within its layer
using TokenPos = Id<struct TokenTag, std::int64_t>; ///< true position in the prompt + answer
using TokenId = std::int32_t;                       ///< entry of the vocabulary

} // namespace ecokv
