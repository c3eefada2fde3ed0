// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/raw_image.h"

#include "base/error.h"

#include <memory>

#include <fmt/format.h>
#include <webp/decode.h>
#include <webp/demux.h>

namespace ecokv::model {

namespace {

[[noreturn]] void throwDamaged(const std::string& name, const char* what) {
    throwBadInput(fmt::format("The WebP file {} is damaged: {}.", name, what),
                  "Export or download the picture again.");
}

std::string exifOf(const ImageSource& source) {
    const WebPData data{source.data(), source.bytes.size()};
    const std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)> demuxer(WebPDemux(&data),
                                                                           &WebPDemuxDelete);
    std::string exif;
    WebPChunkIterator chunk;
    if (demuxer != nullptr && WebPDemuxGetChunk(demuxer.get(), "EXIF", 1, &chunk) != 0) {
        exif.assign(reinterpret_cast<const char*>(chunk.chunk.bytes), chunk.chunk.size);
        WebPDemuxReleaseChunkIterator(&chunk);
    }
    return exif;
}

} // namespace

RawImage decodeWebp(const ImageSource& source) {
    WebPBitstreamFeatures features;
    if (WebPGetFeatures(source.data(), source.bytes.size(), &features) != VP8_STATUS_OK) {
        throwDamaged(source.name, "its header cannot be read");
    }
    if (features.has_animation != 0) {
        throwBadInput(fmt::format("The WebP file {} is an animation.", source.name),
                      "Export one frame of it as a picture.");
    }
    RawImage image;
    image.width = features.width;
    image.height = features.height;
    checkPictureSize(source.name, image.width, image.height);
    const bool alpha = features.has_alpha != 0;
    const auto rowBytes = static_cast<std::size_t>(image.width) * (alpha ? 4 : 3);
    std::vector<std::uint8_t> values(rowBytes * static_cast<std::size_t>(image.height));
    const auto decode = alpha ? &WebPDecodeRGBAInto : &WebPDecodeRGBInto;
    if (decode(source.data(), source.bytes.size(), values.data(), values.size(),
               static_cast<int>(rowBytes)) == nullptr) {
        throwDamaged(source.name, "the pixels are incomplete or broken");
    }
    if (alpha) {
        splitRgba(values, image);
    } else {
        image.pixels = std::move(values);
    }
    image.exif = exifOf(source);
    return image;
}

} // namespace ecokv::model
