// SPDX-License-Identifier: GPL-3.0-or-later
// InternVL 2.5 and 3 in the layout of transformers: tiles and a thumbnail, each through the tower
// by itself, four features shuffled into one, projected behind a norm.
#include "base/error.h"
#include "model/config_values.h"
#include "model/decoder/decoder_config.h"
#include "model/families/family.h"
#include "model/file_advice.h"
#include "model/image/got_ocr2_processor.h"
#include "model/image/stated_tokens.h"
#include "model/vision/internvl_tower.h"
#include "model/vision/pixel_shuffle.h"
#include "model/vision/vision_config.h"
#include "model/vision/vision_encoder.h"

#include <fmt/format.h>

#include <cmath>

namespace ecokv::model {

namespace {

constexpr double kProjectorNormEpsilon = 1e-5; // not a setting of the model

struct InternVlParts {
    InternVlVisionConfig vision;
    Activation projectorActivation = Activation::Gelu;
    std::int32_t layer = -1;  ///< that features come from; -1 = the last, normed
    std::int32_t shuffle = 2; ///< features each way that become one
    std::string configPath;

    std::int32_t side() const {
        return vision.gridSide() / shuffle;
    } ///< tokens of a tile, each way
    std::int32_t tokens() const { return side() * side(); }
};

/// What the processor writes around the tokens of a picture, and what stands for a video.
struct Wrappers {
    std::string before = "<img>", after = "</img>", video = "<video>";
};

class InternVlProcessor final : public PictureProcessor {
public:
    struct Settings {
        InternVlParts parts;
        GotOcr2Config pictures;
        std::string marker; ///< "<IMG_CONTEXT>", the image token itself
        Wrappers wrappers;
    };
    explicit InternVlProcessor(Settings settings) : m_settings(std::move(settings)) {}

    const std::string& source() const override { return m_settings.pictures.tile.source; }
    const std::string& marker() const override { return m_settings.marker; }
    std::string videoMarker() const override { return m_settings.wrappers.video; }
    PreparedPicture prepare(const Picture& picture, std::size_t count) const override;
    std::string sizeRule() const override { return model::sizeRule(m_settings.pictures); }
    std::vector<std::pair<std::string, std::string>> describe() const override;

private:
    Settings m_settings;
};

PreparedPicture InternVlProcessor::prepare(const Picture& picture, std::size_t /*count*/) const {
    const InternVlParts& parts = m_settings.parts;
    const TiledPicture tiled = processGotOcr2(picture, m_settings.pictures);
    const std::int32_t side = parts.vision.imageSize;
    const double cell = static_cast<double>(parts.vision.patchSize) * parts.shuffle;
    PreparedPicture result;
    result.resizedWidth = tiled.grid.width * side;
    result.resizedHeight = tiled.grid.height * side;
    result.input.shape = {std::ssize(tiled.tiles), 3, side, side};
    result.input.grid = {1, tiled.grid.height, tiled.grid.width};
    result.input.values.reserve(tiled.tiles.size() * 3 * static_cast<std::size_t>(side * side));
    for (std::size_t i = 0; i < tiled.tiles.size(); ++i) {
        const ProcessedImage& tile = tiled.tiles[i];
        const bool isThumbnail = tiled.hasThumbnail() && i + 1 == tiled.tiles.size();
        addCells(result.tokens, tile.placement,
                 {parts.side(), parts.side(), cell, cell,
                  isThumbnail ? PatchRole::Thumbnail : PatchRole::Patch});
        result.input.values.insert(result.input.values.end(), tile.pixels.begin(),
                                   tile.pixels.end());
    }
    if (!tiled.hasThumbnail()) {
        result.gridColumns = result.gridRows = parts.side();
    }
    result.text = m_settings.wrappers.before;
    for (std::size_t token = 0; token < result.tokens.size(); ++token) {
        result.text += m_settings.marker;
    }
    result.text += m_settings.wrappers.after;
    return result;
}

std::vector<std::pair<std::string, std::string>> InternVlProcessor::describe() const {
    const InternVlParts& parts = m_settings.parts;
    const TileLimits& limits = m_settings.pictures.limits;
    const std::int32_t most = limits.most + (limits.most > 1 ? 1 : 0);
    return {
        {"Picture",
         fmt::format("{} tokens for each of {} to {} tiles of {} x {} pixels, the whole picture "
                     "as the last one where there are several",
                     parts.tokens(), limits.least, most, parts.vision.imageSize,
                     parts.vision.imageSize)}};
}

class InternVlVision final : public VisionEncoder {
public:
    InternVlVision(const InternVlParts& parts, std::int64_t hidden, WeightLoader& loader)
        : m_parts(parts), m_tower(parts.vision, parts.layer, "model.vision_tower.", loader),
          m_hidden(hidden) {
        const std::string prefix = "model.multi_modal_projector.";
        const std::int64_t width =
            std::int64_t{parts.vision.hidden} * parts.shuffle * parts.shuffle;
        m_norm = loader.takeLayerNorm(prefix + "layer_norm", width, kProjectorNormEpsilon);
        m_in = loader.takeLinear(prefix + "linear_1", {hidden, width}, true);
        m_out = loader.takeLinear(prefix + "linear_2", {hidden, hidden}, true);
    }

    std::int64_t steps(const PictureInput& picture) const override {
        return m_tower.layersUsed() * picture.shape.front();
    }
    std::int64_t workingBytes(const PictureInput& picture, std::int64_t valueBytes) const override {
        const std::int64_t tiles = picture.shape.front();
        const std::int64_t rows = m_parts.tokens() * m_hidden;
        return std::max(m_tower.workingValues() + tiles * rows, 2 * tiles * rows) * valueBytes;
    }
    VisionFeatures encode(const at::Tensor& pixels, const PictureInput& picture,
                          const std::function<void()>& afterLayer) const override;

private:
    InternVlParts m_parts;
    InternVlTower m_tower;
    std::int64_t m_hidden; ///< of the decoder
    LayerNorm m_norm;
    Linear m_in, m_out;
};

VisionFeatures InternVlVision::encode(const at::Tensor& pixels, const PictureInput& picture,
                                      const std::function<void()>& afterLayer) const {
    const std::int64_t side = m_parts.vision.imageSize;
    const std::int64_t tiles = picture.shape.front();
    if (picture.shape != std::vector<std::int64_t>{tiles, 3, side, side}) {
        throwInternal(fmt::format("The vision tower takes tiles of {0} x {0} pixels.", side));
    }
    std::vector<at::Tensor> rows;
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
        const at::Tensor features = m_tower.encode(pixels[tile], afterLayer);
        const at::Tensor patches = features.narrow(0, 1, features.size(0) - 1); // no class token
        const at::Tensor shuffled =
            pixelShuffled(patches, m_parts.vision.gridSide(), m_parts.shuffle);
        rows.push_back(m_out(activate(m_parts.projectorActivation, m_in(m_norm(shuffled)))));
    }
    return {at::cat(rows), {}};
}

/// The tokens around a picture, by the names that tokenizer_config.json gives them.
Wrappers readWrappers(const std::filesystem::path& folder) {
    Wrappers wrappers;
    const auto path = folder / "tokenizer_config.json";
    if (!std::filesystem::exists(path)) {
        return wrappers;
    }
    const Json json = readJsonFile(path);
    const JsonObject config(json, path.string());
    const auto read = [&](const char* key, std::string& token) {
        token = config.string(key, token);
        for (const char* group : {"extra_special_tokens", "model_specific_special_tokens"}) {
            const Json* tokens = config.find(group);
            if (tokens != nullptr && tokens->is_object()) {
                token = config.object(group).string(key, token);
            }
        }
    };
    read("start_image_token", wrappers.before);
    read("end_image_token", wrappers.after);
    read("video_token", wrappers.video);
    return wrappers;
}

class InternVl final : public Family {
public:
    InternVl(ModelConfig config, InternVlParts parts)
        : Family(std::move(config)), m_parts(std::move(parts)) {}

    std::unique_ptr<PictureProcessor> openProcessor(const std::filesystem::path& folder,
                                                    const Tokenizer& tokenizer) const override;
    std::unique_ptr<VisionEncoder> takeVision(WeightLoader& loader) const override {
        return std::make_unique<InternVlVision>(m_parts, config().decoder.hidden, loader);
    }
    std::span<const PrefixRule> prefixRules() const override { return kTowerAndDecoderRules; }

private:
    InternVlParts m_parts;
};

std::unique_ptr<PictureProcessor> InternVl::openProcessor(const std::filesystem::path& folder,
                                                          const Tokenizer& tokenizer) const {
    requireStatedTokens(folder, {.key = "image_seq_length",
                                 .what = "a tile",
                                 .tokens = m_parts.tokens(),
                                 .configPath = m_parts.configPath});
    GotOcr2Config pictures = readGotOcr2Processor(ProcessorFile::open(folder));
    const std::int32_t side = m_parts.vision.imageSize;
    if (pictures.tile.size != ImageSize{side, side}) {
        throwBadInput(fmt::format("{} makes tiles of {} x {} pixels, but the tower of {} takes "
                                  "{} x {}.",
                                  pictures.tile.source, pictures.tile.size.width,
                                  pictures.tile.size.height, m_parts.configPath, side, side),
                      kMixedFilesAdvice);
    }
    Wrappers wrappers = readWrappers(folder);
    if (!tokenizer.find(wrappers.video)) {
        wrappers.video.clear(); // five letters in brackets like any other
    }
    return std::make_unique<InternVlProcessor>(InternVlProcessor::Settings{
        m_parts, std::move(pictures), imageTokenText(tokenizer), std::move(wrappers)});
}

/// 0.5 = two features each way become one.
std::int32_t shuffleFactor(const JsonObject& root, const InternVlVisionConfig& vision) {
    const double ratio = root.number("downsample_ratio", 0.5);
    const double factor = ratio > 0.0 ? std::round(1.0 / ratio) : 0.0;
    if (factor < 1.0 || factor * ratio != 1.0 || std::fmod(vision.gridSide(), factor) != 0.0) {
        throwBadInput(fmt::format("{} = {} does not shrink a grid of {} x {} features evenly.",
                                  root.where("downsample_ratio"), ratio, vision.gridSide(),
                                  vision.gridSide()),
                      restoreAdvice(root, "downsample_ratio"));
    }
    return static_cast<std::int32_t>(factor);
}

std::int32_t featureLayer(const JsonObject& root, const InternVlVisionConfig& vision) {
    const char* key = "vision_feature_layer";
    const std::int64_t layer = root.integer(key, -1);
    return layer == -1 ? -1 : encoderLayer(root, key, layer, vision.layers);
}

/// Without its class token a tile's features are a square grid; with it they are none.
void requireGrid(const JsonObject& root, const InternVlVisionConfig& vision) {
    if (!dropsFirstToken(root)) { // field case F054
        throwBadInput(fmt::format("{} = \"full\" leaves {} features of a tile of {} patches.",
                                  root.where("vision_feature_select_strategy"),
                                  vision.patches() + 1, vision.patches()),
                      "Set it to \"default\".");
    }
}

DecoderConfig parseText(const JsonObject& root) {
    Json text = Json::object();
    if (const auto given = root.findObject("text_config")) {
        text = given->raw();
    }
    if (!text.contains("model_type")) {
        text["model_type"] = "qwen2"; // the default of this family
    }
    DecoderConfig decoder = parseDecoder(JsonObject(text, root.origin(), "text_config"));
    decoder.tiedEmbeddings = root.boolean("tie_word_embeddings", true);
    return decoder;
}

} // namespace

std::unique_ptr<Family> readInternVl(const ConfigFile& file) {
    const JsonObject& root = file.root;
    InternVlParts parts{.vision = parseInternVlVision(root), .configPath = file.shared.path};
    requireGrid(root, parts.vision);
    parts.projectorActivation = activation(root, "projector_hidden_act", "gelu");
    parts.layer = featureLayer(root, parts.vision);
    parts.shuffle = shuffleFactor(root, parts.vision);
    ModelConfig config = file.shared;
    config.family = "internvl";
    config.decoder = parseText(root);
    config.imageToken = imageToken(root, 151667);
    config.visionLayers = parts.vision.layers;
    config.imageWidth = config.imageHeight = parts.vision.imageSize;
    config.patchSize = parts.vision.patchSize;
    return std::make_unique<InternVl>(std::move(config), std::move(parts));
}

} // namespace ecokv::model
