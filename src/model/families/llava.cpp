// SPDX-License-Identifier: GPL-3.0-or-later
// LLaVA-1.5 (arXiv 2310.03744): CLIP or SigLIP tower, two-layer projector, one square per picture.
#include "base/error.h"
#include "model/families/llava_parts.h"
#include "model/image/clip_processor.h"
#include "model/image/tower_square.h"

#include <fmt/format.h>

namespace ecokv::model {

namespace {

class LlavaProcessor final : public PictureProcessor {
public:
    LlavaProcessor(LlavaParts parts, ClipProcessorConfig settings, std::string marker)
        : m_parts(std::move(parts)), m_settings(std::move(settings)), m_marker(std::move(marker)) {}

    const std::string& source() const override { return m_settings.source; }
    const std::string& marker() const override { return m_marker; }
    PreparedPicture prepare(const Picture& picture, std::size_t count) const override;
    std::string sizeRule() const override { return model::sizeRule(m_settings); }
    std::vector<std::pair<std::string, std::string>> describe() const override;

private:
    std::vector<ImageToken> tokens(const Placement& placement) const;

    LlavaParts m_parts;
    ClipProcessorConfig m_settings;
    std::string m_marker; ///< "<image>", the image token itself
};

/// Patches row after row. The first token, which select strategy "default" drops, is CLIP's class
/// token, without a place in the picture, or SigLIP's first patch.
std::vector<ImageToken> LlavaProcessor::tokens(const Placement& placement) const {
    const VisionConfig& vision = m_parts.vision;
    const auto patch = static_cast<double>(vision.patchSize);
    std::vector<ImageToken> tokens;
    if (!vision.isSiglip) {
        tokens.push_back({});
    }
    addCells(tokens, placement, {vision.gridSide(), vision.gridSide(), patch, patch});
    if (m_parts.projector.dropsFirstToken) {
        tokens.erase(tokens.begin());
    }
    return tokens;
}

PreparedPicture LlavaProcessor::prepare(const Picture& picture, std::size_t /*count*/) const {
    const std::int32_t side = m_parts.vision.imageSize;
    ProcessedImage image = processImage(picture, m_settings);
    requireSize({side, m_parts.configPath, m_settings.source, picture.path}, image.size);
    PreparedPicture result;
    result.resizedWidth = result.resizedHeight = side;
    result.gridColumns = result.gridRows = m_parts.vision.gridSide();
    result.tokens = tokens(image.placement);
    for (std::size_t token = 0; token < result.tokens.size(); ++token) {
        result.text += m_marker;
    }
    result.input.values = std::move(image.pixels);
    result.input.shape = {3, side, side};
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
        : m_side(parts.vision.imageSize), m_squares(parts, hidden, loader) {}

    std::int64_t steps(const PictureInput& /*picture*/) const override {
        return m_squares.layers();
    }
    std::int64_t workingBytes(const PictureInput& /*picture*/,
                              std::int64_t valueBytes) const override {
        return m_squares.workingValues() * valueBytes;
    }
    VisionFeatures encode(const at::Tensor& pixels, const PictureInput& picture,
                          const std::function<void()>& afterLayer) const override {
        if (picture.shape != std::vector<std::int64_t>{3, m_side, m_side}) {
            throwInternal(fmt::format("The vision tower takes {0} x {0} pixels.", m_side));
        }
        return {m_squares.encode(pixels, afterLayer), {}};
    }

private:
    std::int64_t m_side;
    LlavaSquares m_squares;
};

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
    std::span<const PrefixRule> prefixRules() const override { return kTowerAndDecoderRules; }

private:
    LlavaParts m_parts;
};

} // namespace

std::unique_ptr<Family> readLlava(const ConfigFile& file) {
    LlavaParts parts = parseLlavaParts(file);
    ModelConfig config = llavaModelConfig(file, parts);
    config.family = "llava";
    config.decoder.tiedEmbeddings |= file.root.boolean("tie_word_embeddings", false);
    config.imageTokensPerPicture = parts.tokens();
    return std::make_unique<Llava>(std::move(config), std::move(parts));
}

} // namespace ecokv::model
