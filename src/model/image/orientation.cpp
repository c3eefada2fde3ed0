// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/orientation.h"

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <libexif/exif-data.h>

namespace ecokv::model {

namespace {

constexpr std::string_view kExifPrefix("Exif\0\0", 6);

bool looksLikeTiff(std::string_view exif) {
    return exif.starts_with(std::string_view("II*\0", 4)) ||
           exif.starts_with(std::string_view("MM\0*", 4));
}

std::unique_ptr<ExifData, decltype(&exif_data_unref)> parseExif(const std::string& block) {
    std::unique_ptr<ExifData, decltype(&exif_data_unref)> data(exif_data_new(), &exif_data_unref);
    if (data != nullptr) { // as stored: the library would "repair" wrong types otherwise
        exif_data_unset_option(data.get(), EXIF_DATA_OPTION_FOLLOW_SPECIFICATION);
        exif_data_load_data(data.get(), reinterpret_cast<const unsigned char*>(block.data()),
                            static_cast<unsigned int>(block.size()));
    }
    return data;
}

/// The stored number, or nothing if the entry is not one short or long.
std::optional<std::int64_t> numberOf(const ExifEntry& entry, ExifByteOrder order) {
    if (entry.components != 1 || entry.data == nullptr) {
        return std::nullopt;
    }
    if (entry.format == EXIF_FORMAT_SHORT && entry.size >= 2) {
        return exif_get_short(entry.data, order);
    }
    if (entry.format == EXIF_FORMAT_LONG && entry.size >= 4) {
        return exif_get_long(entry.data, order);
    }
    return std::nullopt;
}

/// Which source pixel an upright pixel comes from.
struct SourceOf {
    int orientation;
    std::int32_t width, height; ///< of the stored picture

    std::pair<std::int32_t, std::int32_t> operator()(std::int32_t x, std::int32_t y) const {
        switch (orientation) {
        case 2:
            return {width - 1 - x, y};
        case 3:
            return {width - 1 - x, height - 1 - y};
        case 4:
            return {x, height - 1 - y};
        case 5:
            return {y, x};
        case 6:
            return {y, height - 1 - x};
        case 7:
            return {width - 1 - y, height - 1 - x};
        case 8:
            return {width - 1 - y, x};
        default:
            return {x, y};
        }
    }
};

} // namespace

int readOrientation(const std::string& exif, const std::string& name,
                    std::vector<std::string>& notes) {
    if (exif.empty()) {
        return 1;
    }
    const bool prefixed = exif.starts_with(kExifPrefix);
    const std::string block = prefixed ? exif : std::string(kExifPrefix) + exif;
    if (!looksLikeTiff(std::string_view(block).substr(kExifPrefix.size()))) {
        notes.push_back(fmt::format("The EXIF block of {} is broken and was ignored.", name));
        return 1;
    }
    const auto data = parseExif(block);
    ExifEntry* entry = data == nullptr
                           ? nullptr
                           : exif_content_get_entry(data->ifd[EXIF_IFD_0], EXIF_TAG_ORIENTATION);
    if (entry == nullptr) {
        return 1;
    }
    const auto value = numberOf(*entry, exif_data_get_byte_order(data.get()));
    if (!value || *value < 1 || *value > 8) {
        notes.push_back(fmt::format("The EXIF orientation of {} is broken ({}) and was ignored.",
                                    name, value ? fmt::format("value {}", *value) : "wrong type"));
        return 1;
    }
    return static_cast<int>(*value);
}

void applyOrientation(RawImage& image, int orientation) {
    if (orientation <= 1 || orientation > 8) {
        return;
    }
    const SourceOf sourceOf{orientation, image.width, image.height};
    const bool turned = orientation >= 5;
    const std::int32_t width = turned ? image.height : image.width;
    const std::int32_t height = turned ? image.width : image.height;
    std::vector<std::uint8_t> upright(image.pixels.size());
    std::uint8_t* target = upright.data();
    for (std::int32_t y = 0; y < height; ++y) {
        for (std::int32_t x = 0; x < width; ++x, target += 3) {
            const auto [sx, sy] = sourceOf(x, y);
            const auto offset =
                (static_cast<std::size_t>(sy) * static_cast<std::size_t>(image.width) +
                 static_cast<std::size_t>(sx)) *
                3;
            std::memcpy(target, image.pixels.data() + offset, 3);
        }
    }
    image.pixels = std::move(upright);
    image.width = width;
    image.height = height;
}

} // namespace ecokv::model
