// SPDX-License-Identifier: GPL-3.0-or-later
// Gemma 3 (arXiv 2503.19786): SigLIP tower, patches averaged to a fixed number of tokens, one
// square per picture. Pan and scan, which adds crops of wide pictures, is off as in the reference's
// default.
#include "base/error.h"
#include "model/config_values.h"
#include "model/decoder/decoder_config.h"
#include "model/families/family.h"
#include "model/file_advice.h"
#include "model/image/clip_processor.h"
#include "model/image/placement.h"
#include "model/image/stated_tokens.h"
#include "model/image/tower_square.h"
#include "model/vision/gemma3_projector.h"
#include "model/vision/siglip_tower.h"
#include "model/vision/vision_config.h"
#include "model/vision/vision_encoder.h"

#include <fmt/format.h>

#include <cmath>

namespace ecokv::model {

namespace {

struct Gemma3Parts {
    VisionConfig vision;
    std::int32_t tokenSide = 16;  ///< image tokens along an axis
    TokenId begin = -1, end = -1; ///< around the image tokens
    std::string configPath;

    std::int32_t tokens() const { return tokenSide * tokenSide; }
    std::int32_t patchesPerToken() const { return vision.gridSide() / tokenSide; } ///< an axis
};

/// How the tokens of a picture are written.
struct Spelling {
    std::string begin, image, end;
};

class Gemma3Processor final : public PictureProcessor {
public:
    Gemma3Processor(Gemma3Parts parts, ClipProcessorConfig settings, const Spelling& spelling)
        : m_parts(std::move(parts)), m_settings(std::move(settings)), m_marker(spelling.begin),
          m_text("\n\n" + spelling.begin) {
        for (std::int32_t token = 0; token < m_parts.tokens(); ++token) {
            m_text += spelling.image;
        }
        m_text += spelling.end + "\n\n";
    }

    const std::string& source() const override { return m_settings.source; }
    const std::string& marker() const override { return m_marker; }
    PreparedPicture prepare(const Picture& picture, std::size_t count) const override;
    std::string sizeRule() const override { return model::sizeRule(m_settings); }
    std::vector<std::pair<std::string, std::string>> describe() const override;

private:
    Gemma3Parts m_parts;
    ClipProcessorConfig m_settings;
    std::string m_marker; ///< "<start_of_image>"
    std::string m_text;   ///< what replaces it, the same for every picture
};

PreparedPicture Gemma3Processor::prepare(const Picture& picture, std::size_t /*count*/) const {
    const std::int32_t side = m_parts.vision.imageSize;
    ProcessedImage image = processImage(picture, m_settings);
    requireSize({side, m_parts.configPath, m_settings.source, picture.path}, image.size);
    PreparedPicture result;
    const double pixels = m_parts.patchesPerToken() * m_parts.vision.patchSize; // of a token
    const Placement placement{.scaleX = static_cast<double>(side) / picture.width,
                              .scaleY = static_cast<double>(side) / picture.height};
    addCells(result.tokens, placement, {m_parts.tokenSide, m_parts.tokenSide, pixels, pixels});
    result.text = m_text;
    result.resizedWidth = result.resizedHeight = side;
    result.gridColumns = result.gridRows = m_parts.tokenSide;
    result.input = {std::move(image.pixels), {3, side, side}};
    return result;
}

std::vector<std::pair<std::string, std::string>> Gemma3Processor::describe() const {
    const VisionConfig& vision = m_parts.vision;
    return {{"Picture",
             fmt::format("{} tokens, {} x {} pixels in patches of {}, averaged by {} x {}",
                         m_parts.tokens(), vision.imageSize, vision.imageSize, vision.patchSize,
                         m_parts.patchesPerToken(), m_parts.patchesPerToken())}};
}

class Gemma3Vision final : public VisionEncoder {
public:
    Gemma3Vision(const Gemma3Parts& parts, std::int64_t hidden, WeightLoader& loader)
        : m_patches(parts.vision.patches()),
          m_tower(parts.vision, "model.vision_tower.vision_model.", loader),
          m_projector({.visionHidden = parts.vision.hidden,
                       .hidden = hidden,
                       .patchSide = parts.vision.gridSide(),
                       .tokenSide = parts.tokenSide,
                       .normEps = parts.vision.layerNormEps},
                      "model.multi_modal_projector.", loader) {}

    std::int64_t steps(const PictureInput& /*picture*/) const override {
        return m_tower.layersUsed();
    }
    std::int64_t workingBytes(const PictureInput& /*picture*/,
                              std::int64_t valueBytes) const override {
        return m_tower.workingValues(m_patches) * valueBytes;
    }
    VisionFeatures encode(const at::Tensor& pixels, const PictureInput& /*picture*/,
                          const std::function<void()>& afterLayer) const override {
        return {m_projector.project(m_tower.encode(pixels, m_tower.positionTable(), afterLayer)),
                {}};
    }

private:
    std::int64_t m_patches;
    SiglipTower m_tower;
    Gemma3Projector m_projector;
};

ClipProcessorConfig readGemma3Processor(const ProcessorFile& file) {
    constexpr std::int32_t kDefaultSide = 224;
    const JsonObject settings = file.settings();
    ClipProcessorConfig config;
    config.type = file.type({"Gemma3ImageProcessor"});
    config.source = file.source();
    if (settings.boolean("do_pan_and_scan", false)) {
        throwBadInput(fmt::format("{} asks for crops of wide and tall pictures, which are not "
                                  "supported.",
                                  settings.where("do_pan_and_scan")),
                      "Set do_pan_and_scan to false; the picture is then seen as one square.");
    }
    config.resizes = settings.boolean("do_resize", true);
    config.crops = false;
    config.size = {kDefaultSide, kDefaultSide};
    if (const Json* size = settings.find("size"); size != nullptr && size->is_number()) {
        config.size.width = config.size.height = pixelSide(settings, "size");
    } else if (size != nullptr) {
        const JsonObject object = settings.object("size");
        config.size = {pixelSide(object, "width"), pixelSide(object, "height")};
    }
    config.resample = readResample(settings, Resample::Bilinear);
    config.normalization = readNormalization(settings, kHalf, kHalf);
    return config;
}

class Gemma3 final : public Family {
public:
    Gemma3(ModelConfig config, Gemma3Parts parts)
        : Family(std::move(config)), m_parts(std::move(parts)) {}

    std::unique_ptr<PictureProcessor> openProcessor(const std::filesystem::path& folder,
                                                    const Tokenizer& tokenizer) const override {
        requireStatedTokens(folder, {.key = "image_seq_length",
                                     .what = "a picture",
                                     .tokens = m_parts.tokens(),
                                     .configPath = m_parts.configPath});
        const Spelling spelling{wrapper(tokenizer, "boi_token_index", m_parts.begin),
                                imageTokenText(tokenizer),
                                wrapper(tokenizer, "eoi_token_index", m_parts.end)};
        return std::make_unique<Gemma3Processor>(
            m_parts, readGemma3Processor(ProcessorFile::open(folder)), spelling);
    }
    std::unique_ptr<VisionEncoder> takeVision(WeightLoader& loader) const override {
        return std::make_unique<Gemma3Vision>(m_parts, config().decoder.hidden, loader);
    }
    std::span<const PrefixRule> prefixRules() const override { return kTowerAndDecoderRules; }

private:
    std::string wrapper(const Tokenizer& tokenizer, const char* key, TokenId id) const {
        if (!tokenizer.knows(id)) {
            throwBadInput(fmt::format("{}: {} is {}, but {} has no such token.", m_parts.configPath,
                                      key, id, tokenizer.origin()),
                          kMixedFilesAdvice);
        }
        return tokenizer.tokenString(id);
    }

    Gemma3Parts m_parts;
};

/// Image tokens along an axis, checked against the patches that they average.
std::int32_t tokenSide(const JsonObject& root, const VisionConfig& vision) {
    const std::int32_t tokens = size(root, "mm_tokens_per_image", 256);
    const auto side = static_cast<std::int32_t>(std::lround(std::sqrt(tokens)));
    if (side * side != tokens || vision.gridSide() % side != 0) {
        throwBadInput(fmt::format("{} = {}, but the tower gives {} x {} patches, which do not "
                                  "average to so many squares.",
                                  root.where("mm_tokens_per_image"), tokens, vision.gridSide(),
                                  vision.gridSide()),
                      "Check mm_tokens_per_image, image_size and patch_size.");
    }
    return side;
}

} // namespace

std::unique_ptr<Family> readGemma3(const ConfigFile& file) {
    const JsonObject& root = file.root;
    const auto text = root.findObject("text_config");
    Json described = text ? text->raw() : Json::object();
    described.emplace("model_type", "gemma3_text"); // the only decoder there is
    ModelConfig config = file.shared;
    config.family = "gemma3";
    config.decoder = parseDecoder(JsonObject(described, root.origin(), "text_config"));
    config.decoder.tiedEmbeddings = root.boolean("tie_word_embeddings", true);
    config.imageToken = imageToken(root, 262144);
    Gemma3Parts parts{.vision = parseTower(root, kSiglipDefaults), .configPath = config.path};
    parts.tokenSide = tokenSide(root, parts.vision);
    parts.begin = tokenOf(root, "boi_token", 255999);
    parts.end = tokenOf(root, "eoi_token", 256000);
    config.imageTokensPerPicture = parts.tokens();
    config.visionLayers = parts.vision.layers;
    config.imageWidth = config.imageHeight = parts.vision.imageSize;
    config.patchSize = parts.vision.patchSize;
    return std::make_unique<Gemma3>(std::move(config), std::move(parts));
}

} // namespace ecokv::model
