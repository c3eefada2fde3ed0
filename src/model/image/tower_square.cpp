// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/tower_square.h"

#include "base/error.h"
#include "model/file_advice.h"

#include <fmt/format.h>

namespace ecokv::model {

void requireSize(const TowerSquare& expected, const ImageSize& prepared) {
    if (prepared != ImageSize{expected.side, expected.side}) {
        throwBadInput(
            fmt::format("{} prepares the picture {} as {} x {} pixels, but the tower of {} takes "
                        "{} x {}.",
                        expected.source, expected.picture, prepared.width, prepared.height,
                        expected.configPath, expected.side, expected.side),
            kMixedFilesAdvice);
    }
}

} // namespace ecokv::model
