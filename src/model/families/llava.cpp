// SPDX-License-Identifier: GPL-3.0-or-later
// LLaVA-1.5 (arXiv 2310.03744): CLIP tower, two-layer projector, one square per picture.
#include "base/error.h"
#include "model/config_values.h"
#include "model/decoder/decoder_config.h"
#include "model/families/family.h"
#include "model/image/clip_processor.h"
#include "model/vision/clip_tower.h"
#include "model/vision/projector_mlp.h"
#include "model/vision/vision_config.h"
#include "model/vision/vision_encoder.h"

#include <fmt/format.h>

namespace ecokv::model {

namespace {

/// Names as transformers 5 holds them in memory; what it and older releases write to files (F087).
constexpr PrefixRule kPrefixRules[] = {
    {"language_model.model.", "model.language_model."},
    {"language_model.lm_head.", "lm_head."},
    {"vision_tower.", "model.vision_tower."},
    {"multi_modal_projector.", "model.multi_modal_projector."},
};

struct LlavaParts {
    VisionConfig vision;
    ProjectorConfig projector;
    std::string configPath;

    /// Patches, plus one with the class token (field case F054).
    std::int32_t tokens() const { return vision.patches() + (projector.dropsClassToken ? 0 : 1); }
};

class LlavaProcessor final : public PictureProcessor {
public:
    LlavaProcessor(LlavaParts parts, ClipProcessorConfig settings, std::string marker)
        : m_parts(std::move(parts)), m_settings(std::move(settings)), m_marker(std::move(marker)) {}

    const std::string& source() const override { return m_settings.source; }
    const std::string& marker() const override { return m_marker; }
    PreparedPicture prepare(const Picture& picture, std::size_t count) const override;
    std::vector<std::pair<std::string, std::string>> describe() const override;

private:
    LlavaParts m_parts;
    ClipProcessorConfig m_settings;
    std::string m_marker; ///< "<image>", the image token itself
};

PreparedPicture LlavaProcessor::prepare(const Picture& picture, std::size_t /*count*/) const {
    const VisionConfig& vision = m_parts.vision;
    const std::int32_t side = vision.imageSize;
    ProcessedImage image = processImage(picture, m_settings);
    if (image.size != ImageSize{side, side}) {
        throwBadInput(
            fmt::format("{} prepares the picture {} as {} x {} pixels, but the tower of {} takes "
                        "{} x {}.",
                        m_settings.source, picture.path, image.size.width, image.size.height,
                        m_parts.configPath, side, side),
            "The two files belong to different models.");
    }
    PreparedPicture result;
    result.resizedWidth = result.resizedHeight = side;
    result.gridColumns = result.gridRows = vision.gridSide();
    if (!m_parts.projector.dropsClassToken) {
        result.tokens.push_back({}); // the class token comes first and has no place in the picture
    }
    const std::int32_t patch = vision.patchSize;
    for (std::int32_t row = 0; row < result.gridRows; ++row) {
        for (std::int32_t column = 0; column < result.gridColumns; ++column) {
            result.tokens.push_back({image.sourceBox(column * patch, row * patch,
                                                     (column + 1) * patch, (row + 1) * patch)});
        }
    }
    for (std::size_t token = 0; token < result.tokens.size(); ++token) {
        result.text += m_marker;
    }
    result.input = {std::move(image.pixels), {3, side, side}};
    return result;
}

std::vector<std::pair<std::string, std::string>> LlavaProcessor::describe() const {
    const VisionConfig& vision = m_parts.vision;
    return {{"Picture", fmt::format("{} tokens, {} x {} pixels in patches of {}", m_parts.tokens(),
                                    vision.imageSize, vision.imageSize, vision.patchSize)}};
}

class LlavaVision final : public VisionEncoder {
public:
    LlavaVision(const LlavaParts& parts, std::int64_t hidden, WeightLoader& loader)
        : m_side(parts.vision.imageSize), m_tower(parts.vision, parts.projector.encoderLayersUsed,
                                                  "model.vision_tower.vision_model.", loader),
          m_projector(parts.projector, parts.vision.hidden, hidden, "model.multi_modal_projector.",
                      loader) {}

    std::int64_t steps(const PictureInput& /*picture*/) const override {
        return m_tower.layersUsed();
    }
    VisionFeatures encode(const at::Tensor& pixels, const PictureInput& picture,
                          const std::function<void()>& afterLayer) const override {
        if (picture.shape != std::vector<std::int64_t>{3, m_side, m_side}) {
            throwInternal(fmt::format("The vision tower takes {0} x {0} pixels.", m_side));
        }
        return {m_projector.project(m_tower.encode(pixels, afterLayer)), {}};
    }

private:
    std::int64_t m_side;
    ClipVisionTower m_tower;
    ProjectorMlp m_projector;
};

/// processor_config.json may state how many tokens a picture takes; a different count than the
/// tower's would shift everything behind the picture (field case F054).
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

class Llava final : public Family {
public:
    Llava(ModelConfig config, LlavaParts parts)
        : Family(std::move(config)), m_parts(std::move(parts)) {}

    std::unique_ptr<PictureProcessor> openProcessor(const std::filesystem::path& folder,
                                                    const Tokenizer& tokenizer) const override {
        compareImageTokenCounts(folder, m_parts);
        return std::make_unique<LlavaProcessor>(
            m_parts, readClipProcessor(ProcessorFile::open(folder)), imageTokenText(tokenizer));
    }
    std::unique_ptr<VisionEncoder> takeVision(WeightLoader& loader) const override {
        return std::make_unique<LlavaVision>(m_parts, config().decoder.hidden, loader);
    }
    std::span<const PrefixRule> prefixRules() const override { return kPrefixRules; }

private:
    LlavaParts m_parts;
};

} // namespace

std::unique_ptr<Family> readLlava(const ConfigFile& file) {
    const JsonObject& root = file.root;
    const Json nothing = Json::object();
    const auto text = root.findObject("text_config");
    ModelConfig config = file.shared;
    config.family = "llava";
    config.decoder = parseDecoder(text ? *text : JsonObject(nothing, root.origin()));
    config.decoder.tiedEmbeddings |= root.boolean("tie_word_embeddings", false);
    config.imageToken = imageToken(root, 32000);
    LlavaParts parts{.vision = parseVision(root), .projector = {}, .configPath = config.path};
    parts.projector = parseProjector(root, parts.vision);
    config.imageTokensPerPicture = parts.tokens();
    config.visionLayers = parts.vision.layers;
    config.imageWidth = config.imageHeight = parts.vision.imageSize;
    config.patchSize = parts.vision.patchSize;
    return std::make_unique<Llava>(std::move(config), std::move(parts));
}

} // namespace ecokv::model
