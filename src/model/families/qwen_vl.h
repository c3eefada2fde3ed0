#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What Qwen's multimodal models have in common: the processor, rotary positions with rows and
// columns (M-RoPE), how config.json is laid out. Each version's file says the rest.

#include "model/families/family.h"
#include "model/prompt.h"
#include "model/vision/qwen_tower_config.h"
#include "model/weight_names.h"

#include <memory>
#include <span>
#include <vector>

namespace ecokv::model {

/// The tokens around a picture.
struct QwenVlTokens {
    TokenId image = 151655, visionStart = 151652, video = 151656;
};

struct QwenVlVersion {
    const char* family;  ///< "qwen2_vl"
    const char* decoder; ///< model_type of the decoder
    std::span<const PrefixRule> prefixRules;
    QwenVlTokens tokens = {}; ///< where config.json is silent
};

/// Names as transformers 5 holds them in memory, from those of releases that had no prefix for
/// decoder and tower (field case F087). Qwen3-VL is younger.
inline constexpr PrefixRule kQwen2PrefixRules[] = {
    {"visual.", "model.visual."},
    {"model.layers.", "model.language_model.layers."},
    {"model.embed_tokens.", "model.language_model.embed_tokens."},
    {"model.norm.", "model.language_model.norm."},
};

/// The family of `file`; `tower` as the version reads it (decoder's width excepted).
std::unique_ptr<Family> makeQwenVl(const ConfigFile& file, const QwenVlVersion& version,
                                   QwenTowerConfig tower);

/// vision_config of a file, or `nothing`, an empty object: the defaults.
JsonObject qwenVision(const JsonObject& root, const Json& nothing);
/// What vision_config calls the same in all versions: depth, num_heads, sizes of a patch. `tower`
/// holds the defaults and the width, which the versions read under different names.
void readQwenTower(const JsonObject& vision, QwenTowerConfig& tower);
/// The tower that Qwen3-VL and Qwen3.5 share: learned positions, two-layer merger; no deepstack.
QwenTowerConfig readQwen3Tower(const JsonObject& vision);
/// A list of layers, like fullatt_block_indexes.
std::vector<std::int32_t> layerList(const JsonObject& vision, const char* key,
                                    std::vector<std::int32_t> fallback);

/// [token] time, row, column as get_rope_index of transformers gives them: text counts on, the
/// tokens of a picture share a time and have its rows and columns, text behind goes on after the
/// largest (field case F067). A picture that does not stand behind <|vision_start|> counts as text,
/// as there. Empty for a prompt without pictures. `merge`: patches on a side of an image token.
std::vector<RopePosition> qwenRopePositions(const Prompt& prompt, const QwenVlTokens& tokens,
                                            std::int32_t merge);

} // namespace ecokv::model
