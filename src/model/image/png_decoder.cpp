// SPDX-License-Identifier: GPL-3.0-or-later
// Not libpng's simplified API: that one corrects gamma and blends alpha, PIL does neither.
#include "model/image/raw_image.h"

#include "base/error.h"

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include <fmt/format.h>
#include <png.h>

namespace ecokv::model {

namespace {

struct Reader {
    const ImageSource& source;
    std::size_t at = 0;
    std::string message;
    png_structp png = nullptr;
    png_infop info = nullptr;

    explicit Reader(const ImageSource& s) : source(s) {
        png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, onFatal, onWarning);
        info = png != nullptr ? png_create_info_struct(png) : nullptr;
        if (info == nullptr) {
            throwInternal("libpng could not be started.");
        }
        png_set_read_fn(png, this, readBytes);
    }
    ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    [[noreturn]] static void onFatal(png_structp png, png_const_charp text) {
        static_cast<Reader*>(png_get_error_ptr(png))->message = text;
        png_longjmp(png, 1);
    }
    static void onWarning(png_structp /*png*/, png_const_charp /*text*/) {}

    static void readBytes(png_structp png, png_bytep target, std::size_t count) {
        auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
        if (count > reader->source.bytes.size() - reader->at) {
            png_error(png, "the file ends too early");
        }
        std::memcpy(target, reader->source.data() + reader->at, count);
        reader->at += count;
    }
};

/// False if libpng gave up; so are the two below.
bool readHeader(Reader& reader) {
    if (setjmp(png_jmpbuf(reader.png)) != 0) {
        return false;
    }
    png_read_info(reader.png, reader.info);
    return true;
}

/// Everything becomes 8-bit RGB, with alpha where the file has it (field case F062).
bool requestRgb(Reader& reader) {
    if (setjmp(png_jmpbuf(reader.png)) != 0) {
        return false;
    }
    const int colour = png_get_color_type(reader.png, reader.info);
    if (colour == PNG_COLOR_TYPE_PALETTE) {
        png_set_palette_to_rgb(reader.png);
    }
    if (colour == PNG_COLOR_TYPE_GRAY) {
        png_set_expand_gray_1_2_4_to_8(reader.png);
    }
    png_set_strip_16(reader.png);
    png_set_tRNS_to_alpha(reader.png); // nothing where there is no such chunk
    if (colour == PNG_COLOR_TYPE_GRAY || colour == PNG_COLOR_TYPE_GRAY_ALPHA) {
        png_set_gray_to_rgb(reader.png);
    }
    png_set_interlace_handling(reader.png);
    png_read_update_info(reader.png, reader.info);
    return true;
}

bool readRows(Reader& reader, png_bytepp rows) {
    if (setjmp(png_jmpbuf(reader.png)) != 0) {
        return false;
    }
    png_read_image(reader.png, rows);
    png_read_end(reader.png, reader.info);
    return true;
}

std::string exifOf(const Reader& reader) {
    png_uint_32 length = 0;
    png_bytep data = nullptr;
    if (png_get_eXIf_1(reader.png, reader.info, &length, &data) == 0 || data == nullptr) {
        return {};
    }
    return {reinterpret_cast<const char*>(data), length};
}

[[noreturn]] void throwDamaged(const Reader& reader) {
    throwBadInput(
        fmt::format("The PNG file {} is damaged: {}.", reader.source.name, reader.message),
        "Export or download the picture again.");
}

} // namespace

RawImage decodePng(const ImageSource& source) {
    Reader reader(source);
    if (!readHeader(reader)) {
        throwDamaged(reader);
    }
    RawImage image;
    image.width = static_cast<std::int32_t>(png_get_image_width(reader.png, reader.info));
    image.height = static_cast<std::int32_t>(png_get_image_height(reader.png, reader.info));
    checkPictureSize(source.name, image.width, image.height);
    if (png_get_bit_depth(reader.png, reader.info) == 16 &&
        png_get_color_type(reader.png, reader.info) == PNG_COLOR_TYPE_GRAY) {
        image.notes.push_back(fmt::format("The 16-bit grey values of {} were reduced to 8 bits "
                                          "(PIL clips them at 255 instead).",
                                          source.name));
    }
    if (!requestRgb(reader)) {
        throwDamaged(reader);
    }
    const std::size_t rowBytes = png_get_rowbytes(reader.png, reader.info);
    const auto channels = static_cast<std::size_t>(png_get_channels(reader.png, reader.info));
    if ((channels != 3 && channels != 4) ||
        rowBytes != static_cast<std::size_t>(image.width) * channels) {
        throwInternal(
            fmt::format("libpng gives {} bytes a row for a width of {}.", rowBytes, image.width));
    }
    std::vector<std::uint8_t> values(rowBytes * static_cast<std::size_t>(image.height));
    std::vector<png_bytep> rows;
    for (std::int32_t y = 0; y < image.height; ++y) {
        rows.push_back(values.data() + static_cast<std::size_t>(y) * rowBytes);
    }
    if (!readRows(reader, rows.data())) {
        throwDamaged(reader);
    }
    if (channels == 4) {
        splitRgba(values, image);
    } else {
        image.pixels = std::move(values);
    }
    image.exif = exifOf(reader);
    return image;
}

} // namespace ecokv::model
