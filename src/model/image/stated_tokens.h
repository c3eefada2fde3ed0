#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The number of image tokens that a folder's processor_config.json states, held against the number
// of features that its tower gives.

#include <cstdint>
#include <filesystem>
#include <string>

namespace ecokv::model {

struct StatedTokens {
    const char* key = "";    ///< "image_seq_len"
    const char* what = "";   ///< "a tile"
    std::int32_t tokens = 0; ///< that the tower gives for it
    std::string configPath;  ///< where the tower is described
};

/// Does nothing where the file or the key is missing. Throws Error{BadInput} naming both numbers: a
/// difference would shift everything behind the picture (field case F054).
void requireStatedTokens(const std::filesystem::path& folder, const StatedTokens& expected);

} // namespace ecokv::model
