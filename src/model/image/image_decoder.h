#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// JPEG, PNG and WebP files to [height, width, 3] u8, recognised by their first bytes. EXIF
// orientation applied on request, alpha dropped, grey repeated: what PIL's convert("RGB") gives.

#include "model/prompt.h"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ecokv::model {

/// Largest picture that is decoded, in pixels; larger ones are refused with their size.
constexpr std::int64_t kMaxPicturePixels = 100'000'000;

struct DecodeOptions {
    bool applyOrientation = true;
};

/// Fills path, sha256, width, height, pixels, orientation. `notes` gets a sentence for what was
/// ignored (a broken EXIF tag). Throws Error{BadInput} naming the file and what is wrong with it.
Picture decodePicture(const std::filesystem::path& path, const DecodeOptions& options,
                      std::vector<std::string>& notes);
/// The same from memory; `name` stands for the path in messages.
Picture decodePicture(std::span<const std::byte> bytes, const std::string& name,
                      const DecodeOptions& options, std::vector<std::string>& notes);

} // namespace ecokv::model
