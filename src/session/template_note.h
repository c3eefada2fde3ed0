#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Says which tokens of the chat template an eviction took: without them a model may answer nonsense
// although nothing is broken (field case F033).

#include "model/prompt.h"

#include <cstdint>
#include <span>
#include <string>

namespace ecokv::session {

/// `kept` [layer, kvHead, token] 1 = survives. Names template and special tokens that at least half
/// of the heads lost, with their positions; "" if there are none.
std::string evictedTemplateNote(const model::Prompt& prompt, std::span<const std::uint8_t> kept);

} // namespace ecokv::session
