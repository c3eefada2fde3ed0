// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/picture_options.h"

#include "base/error.h"

namespace ecokv::cli {

namespace {

/// Asked for often enough to be answered better than "not expected".
void refuseVideo(const std::string& file) {
    throwUsage("Videos are not read; --video was given " + file + ".",
               "Take frames out of it, for instance with \"ffmpeg -i " + file +
                   " -vf fps=1 frame-%03d.png\", and give them in order: --image frame-*.png. "
                   "Qwen's models see them as a row of pictures.");
}

} // namespace

void addPictureOptions(CLI::App& command, PictureOptions& options) {
    command.add_flag("--ignore-orientation", options.ignoreOrientation,
                     "Do not turn pictures by their EXIF tag");
    command.add_option("--blend-alpha", options.blendAlpha,
                       "Let this colour show through transparent pixels: white, black or #rrggbb; "
                       "without it alpha is dropped, as in transformers");
    command.add_option("--video", options.video)->group(""); // not shown
}

PictureReading chosenReading(const PictureOptions& options) {
    if (options.video) {
        refuseVideo(*options.video);
    }
    PictureReading reading{!options.ignoreOrientation, {}};
    if (options.blendAlpha) {
        reading.blendAlpha = parseColour(*options.blendAlpha);
    }
    return reading;
}

} // namespace ecokv::cli
