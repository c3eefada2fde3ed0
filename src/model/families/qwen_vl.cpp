// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/families/qwen_vl.h"

#include "base/error.h"
#include "model/config_values.h"
#include "model/decoder/decoder_config.h"
#include "model/file_advice.h"
#include "model/image/qwen_image.h"
#include "model/vision/qwen_tower.h"
#include "model/vision/vision_config.h"

#include <fmt/format.h>

namespace ecokv::model {

namespace {

class QwenVlProcessor final : public PictureProcessor {
public:
    /// Text of tokens, "<|image_pad|>".
    struct Markers {
        std::string image, video;
    };
    QwenVlProcessor(QwenImageConfig settings, QwenVlTokens tokens, Markers markers)
        : m_settings(std::move(settings)), m_tokens(tokens), m_markers(std::move(markers)) {}

    const std::string& source() const override { return m_settings.source; }
    const std::string& marker() const override { return m_markers.image; }
    std::string videoMarker() const override { return m_markers.video; }
    PreparedPicture prepare(const Picture& picture, std::size_t count) const override;
    std::vector<RopePosition> ropePositions(const Prompt& prompt) const override {
        return qwenRopePositions(prompt, m_tokens, m_settings.mergeSize);
    }
    std::string sizeRule() const override { return model::sizeRule(m_settings); }
    std::vector<std::pair<std::string, std::string>> describe() const override;

private:
    QwenImageConfig m_settings;
    QwenVlTokens m_tokens;
    Markers m_markers;
};

PreparedPicture QwenVlProcessor::prepare(const Picture& picture, std::size_t /*count*/) const {
    QwenPatches patches = qwenPatches(picture, m_settings);
    const PatchGrid& grid = patches.grid;
    PreparedPicture result;
    result.resizedWidth = patches.size.width;
    result.resizedHeight = patches.size.height;
    result.gridColumns = grid.tokenColumns();
    result.gridRows = grid.tokenRows();
    const auto edge = [&](std::int32_t token, std::int32_t tokens, std::int32_t pixels) {
        return static_cast<float>(static_cast<double>(token) * pixels / tokens);
    };
    for (std::int32_t row = 0; row < result.gridRows; ++row) {
        for (std::int32_t column = 0; column < result.gridColumns; ++column) {
            result.tokens.push_back({PatchBox{edge(column, result.gridColumns, picture.width),
                                              edge(row, result.gridRows, picture.height),
                                              edge(column + 1, result.gridColumns, picture.width),
                                              edge(row + 1, result.gridRows, picture.height)}});
            result.text += m_markers.image;
        }
    }
    result.input = {std::move(patches.values),
                    {grid.patches(), std::int64_t{3} * m_settings.temporalPatchSize *
                                         m_settings.patchSize * m_settings.patchSize},
                    {1, grid.rows, grid.columns}};
    return result;
}

std::vector<std::pair<std::string, std::string>> QwenVlProcessor::describe() const {
    const std::int64_t side = m_settings.tokenSide();
    return {{"Picture", fmt::format("{} to {} tokens, one for {} x {} pixels of the picture scaled "
                                    "to {} to {} pixels",
                                    std::max<std::int64_t>(1, m_settings.minPixels / (side * side)),
                                    m_settings.maxPixels / (side * side), side, side,
                                    m_settings.minPixels, m_settings.maxPixels)}};
}

class QwenVl final : public Family {
public:
    QwenVl(ModelConfig config, QwenTowerConfig tower, const QwenVlTokens& tokens,
           std::span<const PrefixRule> rules)
        : Family(std::move(config)), m_tower(std::move(tower)), m_tokens(tokens), m_rules(rules) {}

    std::unique_ptr<PictureProcessor> openProcessor(const std::filesystem::path& folder,
                                                    const Tokenizer& tokenizer) const override {
        QwenImageConfig settings = readQwenImage(ProcessorFile::open(folder));
        requireSame(settings, "patch_size", settings.patchSize, m_tower.patchSize);
        requireSame(settings, "temporal_patch_size", settings.temporalPatchSize,
                    m_tower.temporalPatchSize);
        requireSame(settings, "merge_size", settings.mergeSize, m_tower.mergeSize);
        const bool knowsVideos = tokenizer.knows(m_tokens.video);
        return std::make_unique<QwenVlProcessor>(
            std::move(settings), m_tokens,
            QwenVlProcessor::Markers{imageTokenText(tokenizer),
                                     knowsVideos ? tokenizer.tokenString(m_tokens.video) : ""});
    }
    std::unique_ptr<VisionEncoder> takeVision(WeightLoader& loader) const override {
        loader.ignore("mtp."); // Qwen3.5: heads that guess several tokens ahead
        return std::make_unique<QwenTower>(m_tower, "model.visual.", loader);
    }
    std::span<const PrefixRule> prefixRules() const override { return m_rules; }

private:
    void requireSame(const QwenImageConfig& settings, const char* key, std::int32_t prepared,
                     std::int32_t wanted) const {
        if (prepared != wanted) { // else every token would be another part of the picture
            throwBadInput(fmt::format("{} has {} = {}, but the tower of {} is made for {}.",
                                      settings.source, key, prepared, config().path, wanted),
                          kMixedFilesAdvice);
        }
    }

    QwenTowerConfig m_tower;
    QwenVlTokens m_tokens;
    std::span<const PrefixRule> m_rules;
};

/// text_config, or in older exports the keys of the file itself, under the decoder's own type.
Json decoderKeys(const JsonObject& root, const char* type) {
    const auto text = root.findObject("text_config");
    Json keys = text ? text->raw() : root.raw();
    keys["model_type"] = type;
    return keys;
}

} // namespace

JsonObject qwenVision(const JsonObject& root, const Json& nothing) {
    const auto given = root.findObject("vision_config");
    return given ? *given : JsonObject(nothing, root.origin(), "vision_config");
}

void readQwenTower(const JsonObject& vision, QwenTowerConfig& tower) {
    tower.layers = size(vision, "depth", tower.layers);
    tower.heads = size(vision, "num_heads", 16);
    tower.patchSize = size(vision, "patch_size", tower.patchSize);
    tower.temporalPatchSize = size(vision, "temporal_patch_size", tower.temporalPatchSize);
    tower.mergeSize = size(vision, "spatial_merge_size", tower.mergeSize);
    if (tower.hidden % (4 * tower.heads) != 0) {
        throwBadInput(fmt::format("{}: a tower of width {} does not divide into {} heads of a "
                                  "multiple of four.",
                                  vision.where("num_heads"), tower.hidden, tower.heads),
                      "Rotary positions by row and column need such heads; check config.json.");
    }
    requireRgb(vision, "in_channels");
}

std::vector<std::int32_t> layerList(const JsonObject& vision, const char* key,
                                    std::vector<std::int32_t> fallback) {
    const Json* list = vision.find(key);
    if (list == nullptr) {
        return fallback;
    }
    std::vector<std::int32_t> layers;
    for (const Json& layer : list->is_array() ? *list : Json::array({*list})) {
        if (!layer.is_number_integer() || layer < 0 || layer > 1'000'000) {
            throwBadInput(fmt::format("{} = {} must list layers.", vision.where(key), list->dump()),
                          restoreAdvice(vision, key));
        }
        layers.push_back(layer.get<std::int32_t>());
    }
    return layers;
}

std::unique_ptr<Family> makeQwenVl(const ConfigFile& file, const QwenVlVersion& version,
                                   QwenTowerConfig tower) {
    const JsonObject& root = file.root;
    const Json keys = decoderKeys(root, version.decoder);
    ModelConfig config = file.shared;
    config.family = version.family;
    config.decoder =
        parseDecoder(JsonObject(keys, root.origin(), root.has("text_config") ? "text_config" : ""));
    config.decoder.tiedEmbeddings = root.boolean("tie_word_embeddings", false);
    config.imageToken = imageToken(root, version.tokens.image);
    config.visionLayers = tower.layers;
    config.patchSize = tower.patchSize;
    if (tower.output != config.decoder.hidden) {
        throwBadInput(fmt::format("The vision tower of {} gives rows of {}, but its decoder takes "
                                  "rows of {}.",
                                  config.path, tower.output, config.decoder.hidden),
                      "Check vision_config and text_config.");
    }
    const QwenVlTokens tokens{.image = config.imageToken,
                              .visionStart =
                                  tokenOf(root, "vision_start_token", version.tokens.visionStart),
                              .video = tokenOf(root, "video_token", version.tokens.video)};
    return std::make_unique<QwenVl>(std::move(config), std::move(tower), tokens,
                                    version.prefixRules);
}

} // namespace ecokv::model
