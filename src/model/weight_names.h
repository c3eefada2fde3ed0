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

/// Where the decoder stands in the weights.
struct DecoderNames {
    std::string prefix = "model.language_model."; ///< ends in a dot
    std::string head = "lm_head";
};

} // namespace ecokv::model
