// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/image_decoder.h"

#include "base/error.h"
#include "model/image/alpha.h"
#include "model/image/orientation.h"
#include "model/image/raw_image.h"
#include "model/sha256.h"
#include "model/weights/mapped_file.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace ecokv::model {

namespace {

struct Format {
    std::string_view name;
    std::string_view magic;
    std::size_t offset = 0; ///< where `magic` stands
    RawImage (*decode)(const ImageSource&) = nullptr;
};

using namespace std::string_view_literals;

constexpr std::string_view kVideo = "video", kPointer = "Git LFS pointer";

constexpr std::array kFormats{
    Format{"JPEG", "\xff\xd8\xff"sv, 0, decodeJpeg},
    Format{"PNG", "\x89PNG\r\n\x1a\n"sv, 0, decodePng},
    Format{"WebP", "WEBP"sv, 8, decodeWebp},
    Format{"GIF", "GIF8"sv},
    Format{"BMP", "BM"sv},
    Format{"TIFF", "II*\0"sv},
    Format{"TIFF", "MM\0*"sv},
    Format{"HEIC or AVIF", "ftyphe"sv, 4},
    Format{"HEIC or AVIF", "ftypmif1"sv, 4},
    Format{"HEIC or AVIF", "ftypmsf1"sv, 4},
    Format{"HEIC or AVIF", "ftypavi"sv, 4},
    Format{kVideo, "ftyp"sv, 4},
    Format{kVideo, "\x1a\x45\xdf\xa3"sv},
    Format{kVideo, "AVI "sv, 8},
    Format{kVideo, "\x00\x00\x01\xba"sv},
    Format{kVideo, "FLV\x01"sv},
    Format{"JPEG 2000", "jP  "sv, 4},
    Format{"JPEG XL", "\xff\x0a"sv},
    Format{"PDF", "%PDF"sv},
    Format{kPointer, "version https://git-lfs"sv},
    Format{"SVG or web page", "<"sv},
};

const Format* recognise(std::string_view head) {
    for (const Format& format : kFormats) {
        if (head.size() > format.offset && head.substr(format.offset).starts_with(format.magic)) {
            return &format;
        }
    }
    return nullptr;
}

RawImage decodeBytes(const ImageSource& source) {
    constexpr const char* kAdvice = "Supported are JPEG, PNG and WebP.";
    if (source.bytes.empty()) {
        throwBadInput(fmt::format("The picture {} is empty.", source.name), kAdvice);
    }
    const auto* text = reinterpret_cast<const char*>(source.bytes.data());
    const Format* format = recognise({text, std::min<std::size_t>(source.bytes.size(), 64)});
    if (format == nullptr) {
        throwBadInput(fmt::format("The file {} is not a picture in a known format.", source.name),
                      kAdvice);
    }
    if (format->name == kVideo) {
        throwBadInput(fmt::format("The file {} is a video; pictures are read here.", source.name),
                      fmt::format("{} {}", kAdvice, kFramesAdvice));
    }
    if (format->name == kPointer) {
        throwBadInput(
            fmt::format("The file {} is a Git LFS pointer, not the picture.", source.name),
            "Fetch the picture with `git lfs pull`.");
    }
    if (format->decode == nullptr) {
        throwBadInput(fmt::format("The file {} is not supported: it is of the kind {}.",
                                  source.name, format->name),
                      kAdvice);
    }
    return format->decode(source);
}

} // namespace

void checkPictureSize(const std::string& name, std::int64_t width, std::int64_t height) {
    if (width < 1 || height < 1) {
        throwBadInput(fmt::format("The picture {} has no pixels ({} x {}).", name, width, height),
                      "Export the picture again from the program that made it.");
    }
    if (width > kMaxPicturePixels / height) {
        throwBadInput(fmt::format("The picture {} has {} x {} pixels; at most {} million are read.",
                                  name, width, height, kMaxPicturePixels / 1'000'000),
                      "Scale it down first; the model sees a much smaller one anyway.");
    }
}

Picture decodePicture(std::span<const std::byte> bytes, const std::string& name,
                      const PictureReading& reading, std::vector<std::string>& notes) {
    RawImage image = decodeBytes({bytes, name});
    notes.insert(notes.end(), image.notes.begin(), image.notes.end());
    Picture picture;
    picture.path = name;
    picture.transparency = resolveAlpha(image, reading.blendAlpha);
    if (reading.applyOrientation) {
        picture.orientation = readOrientation(image.exif, name, notes);
        applyOrientation(image, picture.orientation);
    }
    Sha256 hash;
    hash.update(bytes);
    picture.sha256 = hash.hex();
    picture.width = image.width;
    picture.height = image.height;
    picture.pixels = std::move(image.pixels);
    return picture;
}

Picture decodePicture(const std::filesystem::path& path, const PictureReading& reading,
                      std::vector<std::string>& notes) {
    const auto file = MappedFile::open(path);
    return decodePicture(file->bytes(), path.string(), reading, notes);
}

} // namespace ecokv::model
