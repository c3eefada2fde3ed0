// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/families/llava_parts.h"

#include "base/error.h"
#include "model/config_values.h"
#include "model/decoder/decoder_config.h"

#include <fmt/format.h>

#include <algorithm>

namespace ecokv::model {

namespace {

std::variant<ClipVisionTower, SiglipTower> takeTower(const LlavaParts& parts,
                                                     WeightLoader& loader) {
    const std::string prefix = "model.vision_tower.vision_model.";
    const std::int32_t used = *std::ranges::max_element(parts.projector.encoderLayers);
    if (parts.vision.isSiglip) {
        return SiglipTower(parts.vision, used, prefix, loader);
    }
    return ClipVisionTower(parts.vision, used, prefix, loader);
}

} // namespace

LlavaParts parseLlavaParts(const ConfigFile& file) {
    LlavaParts parts{
        .vision = parseVision(file.root), .projector = {}, .configPath = file.shared.path};
    parts.projector = parseProjector(file.root, parts.vision);
    return parts;
}

ModelConfig llavaModelConfig(const ConfigFile& file, const LlavaParts& parts) {
    const Json nothing = Json::object();
    const auto text = file.root.findObject("text_config");
    ModelConfig config = file.shared;
    config.decoder = parseDecoder(text ? *text : JsonObject(nothing, file.root.origin()));
    config.imageToken = imageToken(file.root, 32000);
    config.visionLayers = parts.vision.layers;
    config.imageWidth = config.imageHeight = parts.vision.imageSize;
    config.patchSize = parts.vision.patchSize;
    return config;
}

void compareImageTokenCounts(const std::filesystem::path& folder, const LlavaParts& parts) {
    const auto path = folder / "processor_config.json";
    if (!std::filesystem::exists(path)) {
        return;
    }
    const Json json = readJsonFile(path);
    const JsonObject processor(json, path.string());
    const auto patch = processor.findInteger("patch_size");
    const auto additional = processor.findInteger("num_additional_image_tokens");
    if (!patch || *patch < 1 || !additional) { // older files leave the count to the model
        return;
    }
    const std::int64_t side = parts.vision.imageSize / *patch;
    const bool drops = processor.string("vision_feature_select_strategy", "") == "default";
    const std::int64_t stated = side * side + *additional - (drops ? 1 : 0);
    if (stated != parts.tokens()) {
        throwBadInput(fmt::format("{} asks for {} tokens a picture, but the tower of {} gives {}.",
                                  path.string(), stated, parts.configPath, parts.tokens()),
                      "Correct patch_size, num_additional_image_tokens or "
                      "vision_feature_select_strategy.");
    }
}

LlavaSquares::LlavaSquares(const LlavaParts& parts, std::int64_t hidden, WeightLoader& loader)
    : m_tower(takeTower(parts, loader)), m_wanted(parts.projector.encoderLayers),
      m_vision(parts.vision), m_hidden(hidden),
      m_projector(parts.projector, parts.vision.hidden, hidden, "model.multi_modal_projector.",
                  loader) {}

at::Tensor LlavaSquares::encode(const at::Tensor& pixels,
                                const std::function<void()>& afterLayer) const {
    return m_projector.project(std::visit(
        [&](const auto& tower) { return tower.states(pixels, m_wanted, afterLayer); }, m_tower));
}

std::int64_t LlavaSquares::workingValues() const {
    const std::int64_t rows = m_vision.tokens();
    const std::int64_t kept = rows * m_vision.hidden * std::ssize(m_wanted);
    const std::int64_t layer =
        std::visit([&](const auto& tower) { return tower.workingValues(rows); }, m_tower);
    const std::int64_t others = kept - rows * m_vision.hidden; // a layer's result counts with it
    return std::max(layer + others, kept + 3 * rows * m_hidden);
}

std::int64_t LlavaSquares::layers() const {
    return std::visit([](const auto& tower) { return tower.layersUsed(); }, m_tower);
}

} // namespace ecokv::model
