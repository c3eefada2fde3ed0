// SPDX-License-Identifier: GPL-3.0-or-later
// Qwen3.5 (dense): the tower of Qwen3-VL without deepstack before a decoder of gated delta-net
// layers, which have no KV cache, and gated full attention.
#include "model/families/qwen_vl.h"

namespace ecokv::model {

std::unique_ptr<Family> readQwen35(const ConfigFile& file) {
    const Json nothing = Json::object();
    const QwenVlTokens tokens{.image = 248056, .visionStart = 248053, .video = 248057};
    return makeQwenVl(file, {"qwen3_5", "qwen3_5_text", {}, tokens},
                      readQwen3Tower(qwenVision(file.root, nothing)));
}

} // namespace ecokv::model
