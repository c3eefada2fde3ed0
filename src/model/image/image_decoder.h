#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// JPEG, PNG and WebP files to [height, width, 3] u8, recognised by their first bytes. EXIF
// orientation applied and alpha dropped unless asked otherwise, grey repeated: what PIL's
// convert("RGB") gives.

#include "model/prompt.h"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ecokv::model {

/// Largest picture that is decoded, in pixels; larger ones are refused with their size.
constexpr std::int64_t kMaxPicturePixels = 100'000'000;

/// What to do with a video.
inline constexpr const char* kFramesAdvice =
    "Take frames out of the video, for instance with \"ffmpeg -i FILE -vf fps=1 frame-%03d.png\", "
    "and give them in order, each as a picture.";

/// Fills path, sha256, width, height, pixels, orientation, transparency. `notes` gets a sentence
/// for what was ignored (a broken EXIF tag). Throws Error{BadInput} naming the file and what is
/// wrong with it.
Picture decodePicture(const std::filesystem::path& path, const PictureReading& reading,
                      std::vector<std::string>& notes);
/// The same from memory; `name` stands for the path in messages.
Picture decodePicture(std::span<const std::byte> bytes, const std::string& name,
                      const PictureReading& reading, std::vector<std::string>& notes);

} // namespace ecokv::model
