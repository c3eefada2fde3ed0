#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What the decoders of the single formats hand over, and what they share. Internal to this folder.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ecokv::model {

struct RawImage {
    std::int32_t width = 0, height = 0; ///< pixels
    std::vector<std::uint8_t> pixels;   ///< [height, width, 3] u8
    std::vector<std::uint8_t> alpha;    ///< [height, width] u8; empty = the format has none
    std::string exif;                   ///< the EXIF block, with or without "Exif\0\0"; "" = none
    std::vector<std::string> notes;     ///< what was changed or ignored, as full sentences
};

/// A file in memory and the name that messages use for it.
struct ImageSource {
    std::span<const std::byte> bytes;
    const std::string& name;

    const std::uint8_t* data() const { return reinterpret_cast<const std::uint8_t*>(bytes.data()); }
};

/// [pixel, 4] u8 to colours and alpha.
void splitRgba(const std::vector<std::uint8_t>& rgba, RawImage& image);

RawImage decodeJpeg(const ImageSource& source);
RawImage decodePng(const ImageSource& source);
RawImage decodeWebp(const ImageSource& source);

/// Throws Error{BadInput} for pictures without pixels and for those above kMaxPicturePixels.
void checkPictureSize(const std::string& name, std::int64_t width, std::int64_t height);

} // namespace ecokv::model
