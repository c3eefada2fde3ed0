#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// How pictures are read, as options of every command that takes some.

#include "base/picture_reading.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace ecokv::cli {

/// As typed.
struct PictureOptions {
    bool ignoreOrientation = false;
    std::optional<std::string> blendAlpha;
    std::optional<std::string> video; ///< always refused, with what to do
};

void addPictureOptions(CLI::App& command, PictureOptions& options);
/// Throws Error{Usage} for an unknown colour, and for a video.
PictureReading chosenReading(const PictureOptions& options);

} // namespace ecokv::cli
