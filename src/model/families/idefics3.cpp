// SPDX-License-Identifier: GPL-3.0-or-later
// Idefics3 (arXiv 2408.12637) and SmolVLM (arXiv 2504.05299): a picture is cut into a grid of
// tiles, the whole of it follows as one more; neighbouring patches are merged before the
// projection.
#include "base/error.h"
#include "model/config_values.h"
#include "model/decoder/decoder_config.h"
#include "model/families/family.h"
#include "model/image/idefics3_processor.h"
#include "model/image/placement.h"
#include "model/image/stated_tokens.h"
#include "model/vision/idefics3_connector.h"
#include "model/vision/siglip_tower.h"
#include "model/vision/vision_config.h"
#include "model/vision/vision_encoder.h"

#include <fmt/format.h>

namespace ecokv::model {

namespace {

constexpr VisionDefaults kTowerDefaults{1152, 3072, 12, 16, 224, 32, 1e-6, "gelu_pytorch_tanh"};
constexpr const char* kWrapper = "<fake_token_around_image>";
constexpr const char* kWholePicture = "<global-img>";

struct Idefics3Parts {
    VisionConfig vision;
    std::int32_t merged = 2; ///< scale_factor: patches merged along each axis
    std::string configPath;
};

/// The image tokens of a tile.
struct TileTokens {
    std::int32_t side = 0; ///< tokens
    double pixels = 0.0;   ///< of a token's side

    std::int32_t count() const { return side * side; }
};

class Idefics3Processor final : public PictureProcessor {
public:
    Idefics3Processor(Idefics3ProcessorConfig settings, TileTokens tokens, std::string marker)
        : m_settings(std::move(settings)), m_tokens(tokens), m_marker(std::move(marker)) {}

    const std::string& source() const override { return m_settings.source; }
    const std::string& marker() const override { return m_marker; }
    PreparedPicture prepare(const Picture& picture, std::size_t count) const override;
    std::string sizeRule() const override { return model::sizeRule(m_settings); }
    std::vector<std::pair<std::string, std::string>> describe() const override;

private:
    void addTiles(const Picture& picture, const TiledImage& image, PreparedPicture& result) const;
    CellGrid cells(PatchRole role) const;

    Idefics3ProcessorConfig m_settings;
    TileTokens m_tokens;
    std::string m_marker; ///< "<image>", the image token itself
};

std::string repeated(const std::string& text, std::int32_t times) {
    std::string result;
    for (std::int32_t i = 0; i < times; ++i) {
        result += text;
    }
    return result;
}

CellGrid Idefics3Processor::cells(PatchRole role) const {
    return {m_tokens.side, m_tokens.side, m_tokens.pixels, m_tokens.pixels, role};
}

/// Row by row, a line each, with the tile's place before its tokens.
void Idefics3Processor::addTiles(const Picture& picture, const TiledImage& image,
                                 PreparedPicture& result) const {
    const std::string tokens = repeated(m_marker, m_tokens.count());
    const double side = m_settings.tileSide;
    const Placement joined{.scaleX = static_cast<double>(image.joined.width) / picture.width,
                           .scaleY = static_cast<double>(image.joined.height) / picture.height};
    for (std::int32_t row = 0; row < image.rows; ++row) {
        for (std::int32_t column = 0; column < image.columns; ++column) {
            result.text +=
                fmt::format("{}<row_{}_col_{}>{}", kWrapper, row + 1, column + 1, tokens);
            const Placement tile{.offsetX = column * side, .offsetY = row * side};
            addCells(result.tokens, tile.within(joined), cells(PatchRole::Patch));
        }
        result.text += '\n';
    }
    if (image.rows > 0) {
        result.text += '\n';
    }
}

PreparedPicture Idefics3Processor::prepare(const Picture& picture, std::size_t /*count*/) const {
    TiledImage image = processIdefics3(picture, m_settings);
    PreparedPicture result;
    addTiles(picture, image, result);
    const bool alone = image.rows == 0; // then it is no reduced second view
    const double side = m_settings.tileSide;
    addCells(result.tokens, {.scaleX = side / picture.width, .scaleY = side / picture.height},
             cells(alone ? PatchRole::Patch : PatchRole::Thumbnail));
    result.text +=
        kWrapper + std::string(kWholePicture) + repeated(m_marker, m_tokens.count()) + kWrapper;
    result.resizedWidth = image.joined.width;
    result.resizedHeight = image.joined.height;
    if (alone) {
        result.gridColumns = result.gridRows = m_tokens.side;
    }
    result.input = {std::move(image.values),
                    {image.tiles(), 3, m_settings.tileSide, m_settings.tileSide},
                    {1, image.rows, image.columns}};
    return result;
}

std::vector<std::pair<std::string, std::string>> Idefics3Processor::describe() const {
    const std::int32_t side = m_settings.tileSide;
    std::string value =
        fmt::format("{} tokens for each tile of {} x {} pixels", m_tokens.count(), side, side);
    if (m_settings.splits && m_settings.resizes && m_settings.longestEdge > 0) {
        const ImageSize longest = longestEdgeSize({side, side}, m_settings.longestEdge);
        const std::int32_t most = tileMultiple(longest, side).width / side;
        value +=
            fmt::format(", {0} tiles along the longer edge and one of the whole picture", most);
    }
    return {{"Picture", std::move(value)}};
}

class Idefics3Vision final : public VisionEncoder {
public:
    Idefics3Vision(const Idefics3Parts& parts, std::int64_t hidden, WeightLoader& loader)
        : m_config(parts.vision), m_merged(parts.merged), m_hidden(hidden),
          m_tower(parts.vision, "model.vision_model.", loader),
          m_connector(parts.merged, parts.vision.hidden, hidden, loader) {}

    std::int64_t steps(const PictureInput& picture) const override {
        return picture.shape.at(0) * m_tower.layersUsed();
    }
    std::int64_t workingBytes(const PictureInput& picture, std::int64_t valueBytes) const override {
        const std::int64_t side = picture.shape.at(3) / m_config.patchSize;
        const std::int64_t rows = side * side / (m_merged * m_merged) * m_hidden; // of a tile
        const std::int64_t tiles = picture.shape.at(0);
        return std::max(m_tower.workingValues(side * side) + tiles * rows, 2 * tiles * rows) *
               valueBytes;
    }
    VisionFeatures encode(const at::Tensor& pixels, const PictureInput& picture,
                          const std::function<void()>& afterLayer) const override {
        const at::Tensor& table = m_tower.positionTable();
        const std::int64_t side = picture.shape.at(3) / m_config.patchSize;
        const at::Tensor positions = table.index_select(
            0,
            positionsByShare(m_config.gridSide(), side, pixels.scalar_type()).to(table.device()));
        std::vector<at::Tensor> tiles;
        for (std::int64_t tile = 0; tile < picture.shape.at(0); ++tile) {
            tiles.push_back(
                m_connector.project(m_tower.encode(pixels[tile], positions, afterLayer)));
        }
        return {at::cat(tiles), {}};
    }

private:
    VisionConfig m_config;
    std::int64_t m_merged; ///< patches each way that become a token
    std::int64_t m_hidden; ///< of the decoder
    SiglipTower m_tower;
    Idefics3Connector m_connector;
};

TileTokens tokensOfTile(const Idefics3Parts& parts, const Idefics3ProcessorConfig& settings) {
    const VisionConfig& vision = parts.vision;
    const std::int32_t patches = settings.tileSide / vision.patchSize;
    if (patches == 0 || patches % parts.merged != 0) {
        throwBadInput(fmt::format("{} cuts pictures into tiles of {} pixels, which the tower of {} "
                                  "cannot read as patches of {} pixels, {} x {} of them merged.",
                                  settings.source, settings.tileSide, parts.configPath,
                                  vision.patchSize, parts.merged, parts.merged),
                      "Correct max_image_size, or patch_size and scale_factor.");
    }
    return {patches / parts.merged, static_cast<double>(vision.patchSize) * parts.merged};
}

class Idefics3 final : public Family {
public:
    Idefics3(ModelConfig config, Idefics3Parts parts)
        : Family(std::move(config)), m_parts(std::move(parts)) {}

    std::unique_ptr<PictureProcessor> openProcessor(const std::filesystem::path& folder,
                                                    const Tokenizer& tokenizer) const override {
        Idefics3ProcessorConfig settings = readIdefics3Processor(ProcessorFile::open(folder));
        const TileTokens tokens = tokensOfTile(m_parts, settings);
        requireStatedTokens(folder, {.key = "image_seq_len",
                                     .what = "a tile",
                                     .tokens = tokens.count(),
                                     .configPath = m_parts.configPath});
        return std::make_unique<Idefics3Processor>(std::move(settings), tokens,
                                                   imageTokenText(tokenizer));
    }
    std::unique_ptr<VisionEncoder> takeVision(WeightLoader& loader) const override {
        return std::make_unique<Idefics3Vision>(m_parts, config().decoder.hidden, loader);
    }
    std::span<const PrefixRule> prefixRules() const override { return {}; } // one layout only
    DecoderNames decoderNames() const override {
        return {.prefix = "model.text_model.", .head = "lm_head"};
    }

private:
    Idefics3Parts m_parts;
};

} // namespace

std::unique_ptr<Family> readIdefics3(const ConfigFile& file) {
    const JsonObject& root = file.root;
    const Json defaults = {{"rms_norm_eps", 1e-5}}; // where there is no text_config at all
    const auto text = root.findObject("text_config");
    ModelConfig config = file.shared;
    config.family = config.architecture.starts_with("SmolVLM") ? "smolvlm" : "idefics3";
    config.decoder = parseDecoder(text ? *text : JsonObject(defaults, root.origin()));
    config.decoder.tiedEmbeddings |= root.boolean("tie_word_embeddings", false);
    config.imageToken = imageToken(root, 128257);
    Idefics3Parts parts{.vision = parseTower(root, kTowerDefaults),
                        .merged = size(root, "scale_factor", 2),
                        .configPath = config.path};
    config.visionLayers = parts.vision.layers;
    config.imageWidth = config.imageHeight = parts.vision.imageSize;
    config.patchSize = parts.vision.patchSize;
    return std::make_unique<Idefics3>(std::move(config), std::move(parts));
}

} // namespace ecokv::model
