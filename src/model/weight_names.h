#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Names of tensors: those of the newest exports are canonical, older ones are translated.

#include <string>

namespace ecokv::model {

/// Older exports put the same tensor under another prefix (field case F087).
struct PrefixRule {
    const char* written;   ///< as it may stand in the file
    const char* canonical; ///< as we ask for it
};

/// For a tower, a projector and a language model side by side, as LLaVA began it: names as
/// transformers 5 holds them in memory, from what it and older releases write to files.
inline constexpr PrefixRule kTowerAndDecoderRules[] = {
    {"language_model.model.", "model.language_model."},
    {"language_model.lm_head.", "lm_head."},
    {"vision_tower.", "model.vision_tower."},
    {"multi_modal_projector.", "model.multi_modal_projector."},
    {"image_newline", "model.image_newline"}, // LLaVA-NeXT alone has it
};

/// Where the decoder stands in the weights.
struct DecoderNames {
    std::string prefix = "model.language_model."; ///< ends in a dot
    std::string head = "lm_head";
};

} // namespace ecokv::model
