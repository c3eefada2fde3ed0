// SPDX-License-Identifier: GPL-3.0-or-later
// LLaVA-NeXT (LLaVA-1.6): the whole picture as one square of LLaVA-1.5, then AnyRes tiles of it
// joined to one grid of features, cut to the picture, with a learned newline behind every row.
#include "base/error.h"
#include "model/decoder/finite_checks.h"
#include "model/families/llava_parts.h"
#include "model/file_advice.h"
#include "model/image/anyres_processor.h"
#include "model/image/tiles.h"
#include "model/image/tower_square.h"

#include <fmt/format.h>

#include <algorithm>

namespace ecokv::model {

namespace {

/// Features of a picture in the order of its tokens: the base square, then `cells` row by row, each
/// row with a newline. Counted here alone, for prompt and tower (field case F066).
struct AnyResLayout {
    std::int32_t side = 0; ///< features of a square, each way
    std::int32_t tileColumns = 0, tileRows = 0;
    CellCrop cells; ///< of the tiles' joined grid

    AnyResLayout(const VisionConfig& vision, const ImageSize& picture, const ImageSize& tiles)
        : side(vision.gridSide()), tileColumns(tiles.width), tileRows(tiles.height),
          cells(unpadded(picture, {tiles.width * side, tiles.height * side})) {}

    std::int32_t tokens() const { return side * side + (cells.columns + 1) * cells.rows; }
};

class LlavaNextProcessor final : public PictureProcessor {
public:
    struct Settings {
        LlavaParts parts;
        std::vector<ImageSize> canvases; ///< of config.json
        AnyResConfig pictures;
        std::string marker; ///< "<image>", the image token itself
    };
    explicit LlavaNextProcessor(Settings settings) : m_settings(std::move(settings)) {}

    const std::string& source() const override { return m_settings.pictures.tile.source; }
    const std::string& marker() const override { return m_settings.marker; }
    PreparedPicture prepare(const Picture& picture, std::size_t count) const override;
    std::string sizeRule() const override { return model::sizeRule(m_settings.pictures); }
    std::vector<std::pair<std::string, std::string>> describe() const override;

private:
    void requireSameCanvas(const Picture& picture, const ImageSize& canvas) const;
    std::vector<ImageToken> tokens(const AnyResPicture& prepared, const AnyResLayout& layout) const;

    Settings m_settings;
};

/// The tower joins the tiles by the list of config.json, which must not lead elsewhere.
void LlavaNextProcessor::requireSameCanvas(const Picture& picture, const ImageSize& canvas) const {
    const ImageSize other = bestCanvas({picture.width, picture.height}, m_settings.canvases);
    if (other != canvas) {
        throwBadInput(fmt::format("For the picture {} ({} x {}), image_grid_pinpoints of {} leads "
                                  "to {} x {} pixels, but that of {} to {} x {}.",
                                  picture.path, picture.width, picture.height, source(),
                                  canvas.width, canvas.height, m_settings.parts.configPath,
                                  other.width, other.height),
                      kMixedFilesAdvice);
    }
}

std::vector<ImageToken> LlavaNextProcessor::tokens(const AnyResPicture& prepared,
                                                   const AnyResLayout& layout) const {
    const auto patch = static_cast<double>(m_settings.parts.vision.patchSize);
    std::vector<ImageToken> tokens;
    addCells(tokens, prepared.squares.front().placement,
             {layout.side, layout.side, patch, patch, PatchRole::Thumbnail});
    for (std::int32_t row = layout.cells.top; row < layout.cells.top + layout.cells.rows; ++row) {
        for (std::int32_t i = 0; i < layout.cells.columns; ++i) {
            const std::int32_t column = layout.cells.left + i;
            const std::int32_t tile = row / layout.side * layout.tileColumns + column / layout.side;
            const double x = (column % layout.side) * patch;
            const double y = (row % layout.side) * patch;
            const Placement& placement =
                prepared.squares[static_cast<std::size_t>(tile) + 1].placement;
            tokens.push_back({placement.box(x, y, x + patch, y + patch), PatchRole::Patch});
        }
        tokens.push_back({kNoBox, PatchRole::Newline});
    }
    return tokens;
}

PreparedPicture LlavaNextProcessor::prepare(const Picture& picture, std::size_t /*count*/) const {
    AnyResPicture prepared = processAnyRes(picture, m_settings.pictures);
    requireSameCanvas(picture, prepared.canvas);
    const std::int32_t side = m_settings.parts.vision.imageSize;
    const ImageSize tiles{prepared.canvas.width / side, prepared.canvas.height / side};
    const AnyResLayout layout(m_settings.parts.vision, {picture.width, picture.height}, tiles);

    PreparedPicture result;
    result.resizedWidth = prepared.canvas.width;
    result.resizedHeight = prepared.canvas.height;
    result.tokens = tokens(prepared, layout);
    for (std::size_t token = 0; token < result.tokens.size(); ++token) {
        result.text += m_settings.marker;
    }
    result.input.shape = {std::ssize(prepared.squares), 3, side, side};
    result.input.grid = {1, tiles.height, tiles.width};
    result.input.source = {picture.width, picture.height};
    result.input.values.reserve(prepared.squares.size() * 3 *
                                static_cast<std::size_t>(side * side));
    for (const ProcessedImage& square : prepared.squares) {
        requireSize({side, m_settings.parts.configPath, source(), picture.path}, square.size);
        result.input.values.insert(result.input.values.end(), square.pixels.begin(),
                                   square.pixels.end());
    }
    return result;
}

std::vector<std::pair<std::string, std::string>> LlavaNextProcessor::describe() const {
    const VisionConfig& vision = m_settings.parts.vision;
    const std::int32_t side = vision.imageSize;
    const auto most = std::ranges::max(m_settings.canvases, {}, [](const ImageSize& canvas) {
        return std::int64_t{canvas.width} * canvas.height;
    });
    const AnyResLayout layout(vision, most, {most.width / side, most.height / side});
    return {{"Picture",
             fmt::format("{} to {} tokens: the whole as {} x {} pixels, and tiles of that size up "
                         "to {} x {} together, in patches of {}",
                         m_settings.parts.tokens(), layout.tokens(), side, side, most.width,
                         most.height, vision.patchSize)}};
}

class LlavaNextVision final : public VisionEncoder {
public:
    LlavaNextVision(const LlavaParts& parts, std::int64_t hidden, WeightLoader& loader)
        : m_vision(parts.vision), m_squares(parts, hidden, loader),
          m_newline(loader.take("model.image_newline", {hidden})) {}

    std::int64_t steps(const PictureInput& picture) const override {
        return m_squares.layers() * picture.shape.front();
    }
    std::int64_t workingBytes(const PictureInput& picture, std::int64_t valueBytes) const override {
        const std::int64_t tile = std::int64_t{m_vision.patches()} * m_newline.size(0);
        const std::int64_t tiles = picture.shape.front();
        // The last tile beside the others, or all of them while they become one grid.
        return std::max(m_squares.workingValues() + (tiles - 1) * tile, 4 * tiles * tile) *
               valueBytes;
    }
    VisionFeatures encode(const at::Tensor& pixels, const PictureInput& picture,
                          const std::function<void()>& afterLayer) const override;

private:
    VisionConfig m_vision;
    LlavaSquares m_squares;
    at::Tensor m_newline; ///< [hidden]
};

VisionFeatures LlavaNextVision::encode(const at::Tensor& pixels, const PictureInput& picture,
                                       const std::function<void()>& afterLayer) const {
    const auto [frames, tileRows, tileColumns] = picture.grid;
    const std::int64_t tiles = std::int64_t{tileRows} * tileColumns;
    const std::int64_t side = m_vision.imageSize;
    if (picture.shape != std::vector<std::int64_t>{tiles + 1, 3, side, side}) {
        throwInternal(fmt::format("The vision tower takes one square and {} tiles.", tiles));
    }
    const AnyResLayout layout(m_vision, {picture.source[0], picture.source[1]},
                              {tileColumns, tileRows});
    const at::Tensor base = m_squares.encode(pixels[0], afterLayer);
    std::vector<at::Tensor> parts;
    for (std::int64_t tile = 1; tile <= tiles; ++tile) {
        parts.push_back(m_squares.encode(pixels[tile], afterLayer));
    }
    // [tileRow, tileColumn, row, column, hidden] to one grid of rows and columns
    const std::int64_t n = layout.side;
    const at::Tensor grid = at::stack(parts)
                                .view({tileRows, tileColumns, n, n, -1})
                                .permute({0, 2, 1, 3, 4})
                                .reshape({tileRows * n, tileColumns * n, -1});
    const at::Tensor kept = grid.narrow(0, layout.cells.top, layout.cells.rows)
                                .narrow(1, layout.cells.left, layout.cells.columns);
    if (!isFinite(m_newline)) {
        throwDamaged("The part that joins the tiles of a picture", "image_newline");
    }
    const at::Tensor newlines = m_newline.expand({layout.cells.rows, 1, m_newline.size(0)});
    return {at::cat({base, at::cat({kept, newlines}, 1).flatten(0, 1)}), {}};
}

class LlavaNext final : public Family {
public:
    LlavaNext(ModelConfig config, LlavaParts parts, std::vector<ImageSize> canvases)
        : Family(std::move(config)), m_parts(std::move(parts)), m_canvases(std::move(canvases)) {}

    std::unique_ptr<PictureProcessor> openProcessor(const std::filesystem::path& folder,
                                                    const Tokenizer& tokenizer) const override {
        compareImageTokenCounts(folder, m_parts);
        return std::make_unique<LlavaNextProcessor>(LlavaNextProcessor::Settings{
            m_parts, m_canvases, readAnyResProcessor(ProcessorFile::open(folder)),
            imageTokenText(tokenizer)});
    }
    std::unique_ptr<VisionEncoder> takeVision(WeightLoader& loader) const override {
        return std::make_unique<LlavaNextVision>(m_parts, config().decoder.hidden, loader);
    }
    std::span<const PrefixRule> prefixRules() const override { return kTowerAndDecoderRules; }

private:
    LlavaParts m_parts;
    std::vector<ImageSize> m_canvases;
};

/// Features are laid out as a square grid: one for every patch, whatever else the tower gives.
void requireGrid(const ConfigFile& file, const LlavaParts& parts) {
    if (parts.tokens() != parts.vision.patches()) { // field case F054
        throwBadInput(fmt::format("{} leaves {} features of a tile of {} patches.",
                                  file.root.where("vision_feature_select_strategy"), parts.tokens(),
                                  parts.vision.patches()),
                      "Set it to \"default\" with a CLIP tower and \"full\" with a SigLIP tower.");
    }
}

} // namespace

std::unique_ptr<Family> readLlavaNext(const ConfigFile& file) {
    LlavaParts parts = parseLlavaParts(file);
    requireGrid(file, parts);
    ModelConfig config = llavaModelConfig(file, parts);
    config.family = "llava_next";
    config.decoder.tiedEmbeddings = file.root.boolean("tie_word_embeddings", false);
    auto canvases = readCanvases(file.root, parts.vision.imageSize);
    return std::make_unique<LlavaNext>(std::move(config), std::move(parts), std::move(canvases));
}

} // namespace ecokv::model
