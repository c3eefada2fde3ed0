// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/raw_image.h"

#include "base/error.h"

#include <array>
#include <csetjmp>
#include <cstdio> // jpeglib.h needs it before itself

#include <fmt/format.h>
#include <jerror.h>
#include <jpeglib.h>

namespace ecokv::model {

namespace {

/// libjpeg reports by callback; a fatal error leaves by longjmp, so nothing here owns memory that a
/// jump could skip.
struct ErrorState {
    jpeg_error_mgr manager{};
    std::jmp_buf leave{};
    std::array<char, JMSG_LENGTH_MAX> message{};
    bool truncated = false;
};

ErrorState& stateOf(j_common_ptr info) {
    return *reinterpret_cast<ErrorState*>(info->err);
}

[[noreturn]] void onFatal(j_common_ptr info) {
    ErrorState& state = stateOf(info);
    info->err->format_message(info, state.message.data());
    std::longjmp(state.leave, 1);
}

/// Level -1 is a warning about damaged data, higher ones are traces.
void onMessage(j_common_ptr info, int level) {
    if (level >= 0) {
        return;
    }
    ErrorState& state = stateOf(info);
    ++info->err->num_warnings;
    if (info->err->msg_code == JWRN_JPEG_EOF || info->err->msg_code == JWRN_HIT_MARKER) {
        state.truncated = true; // part of the picture would be grey
    }
    if (state.message[0] == '\0') {
        info->err->format_message(info, state.message.data());
    }
}

struct Decompress {
    jpeg_decompress_struct info{};
    ErrorState errors;

    Decompress() {
        info.err = jpeg_std_error(&errors.manager);
        errors.manager.error_exit = onFatal;
        errors.manager.emit_message = onMessage;
    }
    ~Decompress() { jpeg_destroy_decompress(&info); }
    Decompress(const Decompress&) = delete;
    Decompress& operator=(const Decompress&) = delete;
};

[[noreturn]] void throwDamaged(const std::string& name, const Decompress& job) {
    throwBadInput(fmt::format("The JPEG file {} is damaged: {}.", name, job.errors.message.data()),
                  "Export or download the picture again.");
}

/// False if libjpeg gave up.
bool readHeader(Decompress& job, const ImageSource& source) {
    if (setjmp(job.errors.leave) != 0) {
        return false;
    }
    jpeg_create_decompress(&job.info);
    jpeg_mem_src(&job.info, source.data(), static_cast<unsigned long>(source.bytes.size()));
    jpeg_save_markers(&job.info, JPEG_APP0 + 1, 0xffff);
    return jpeg_read_header(&job.info, TRUE) == JPEG_HEADER_OK;
}

/// Decodes all rows into `pixels` [height, width, channels], which is large enough.
bool readRows(Decompress& job, std::uint8_t* pixels, std::size_t rowBytes) {
    if (setjmp(job.errors.leave) != 0) {
        return false;
    }
    jpeg_start_decompress(&job.info);
    while (job.info.output_scanline < job.info.output_height) {
        JSAMPROW row = pixels + job.info.output_scanline * rowBytes;
        jpeg_read_scanlines(&job.info, &row, 1);
    }
    jpeg_finish_decompress(&job.info);
    return true;
}

std::string exifOf(const jpeg_decompress_struct& info) {
    for (const jpeg_marker_struct* marker = info.marker_list; marker != nullptr;
         marker = marker->next) {
        const std::string data(reinterpret_cast<const char*>(marker->data), marker->data_length);
        if (marker->marker == JPEG_APP0 + 1 && data.starts_with(std::string("Exif\0\0", 6))) {
            return data;
        }
    }
    return {};
}

/// Adobe's files store inverted ink (255 = none), so that PIL's inversion and its formula
/// (255 - K) * (255 - C) / 255 become a product (field case F061).
std::vector<std::uint8_t> inkToRgb(const std::vector<std::uint8_t>& ink) {
    const auto multiply = [](unsigned a, unsigned b) {
        const unsigned product = a * b + 128;
        return ((product >> 8) + product) >> 8; // rounded a * b / 255
    };
    std::vector<std::uint8_t> rgb;
    rgb.reserve(ink.size() / 4 * 3);
    for (std::size_t i = 0; i + 3 < ink.size(); i += 4) {
        const unsigned light = ink[i + 3];
        for (std::size_t c = 0; c < 3; ++c) {
            const unsigned absorbed = multiply(255U - ink[i + c], light);
            rgb.push_back(static_cast<std::uint8_t>(light - absorbed));
        }
    }
    return rgb;
}

} // namespace

RawImage decodeJpeg(const ImageSource& source) {
    Decompress job;
    if (!readHeader(job, source)) {
        throwDamaged(source.name, job);
    }
    const bool ink = job.info.num_components == 4;
    if (ink && job.info.saw_Adobe_marker == FALSE) {
        throwBadInput(fmt::format("The JPEG file {} holds CMYK colours but no Adobe marker, so it "
                                  "is unknown whether they are inverted.",
                                  source.name),
                      "Convert the picture to RGB.");
    }
    RawImage image;
    image.width = static_cast<std::int32_t>(job.info.image_width);
    image.height = static_cast<std::int32_t>(job.info.image_height);
    checkPictureSize(source.name, image.width, image.height);
    image.exif = exifOf(job.info);

    job.info.out_color_space = ink ? JCS_CMYK : JCS_RGB;
    const std::size_t rowBytes = static_cast<std::size_t>(image.width) * (ink ? 4 : 3);
    std::vector<std::uint8_t> rows(rowBytes * static_cast<std::size_t>(image.height));
    if (!readRows(job, rows.data(), rowBytes)) {
        throwDamaged(source.name, job);
    }
    if (job.errors.truncated) {
        throwBadInput(fmt::format("The JPEG file {} is cut short: {}.", source.name,
                                  job.errors.message.data()),
                      "Export or download the picture again.");
    }
    if (job.errors.manager.num_warnings > 0) {
        image.notes.push_back(fmt::format("The JPEG file {} was read despite a flaw: {}.",
                                          source.name, job.errors.message.data()));
    }
    image.pixels = ink ? inkToRgb(rows) : std::move(rows);
    return image;
}

} // namespace ecokv::model
