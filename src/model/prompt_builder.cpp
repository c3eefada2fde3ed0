// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/prompt_builder.h"

#include "base/error.h"
#include "model/image/image_decoder.h"
#include "model/json_file.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace ecokv::model {

namespace fs = std::filesystem;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::array<float, 4> kNoBox{kNaN, kNaN, kNaN, kNaN};
/// Stands for the user's words when the text around them is looked for; never tokenised.
const std::string kStandIn = "USERSWORDSGOHERE7301";

/// processor_config.json may state how many tokens a picture takes; a different count than the
/// tower's would shift everything behind the picture (field case F054).
void compareImageTokenCounts(const fs::path& folder, const ModelConfig& config) {
    const fs::path path = folder / "processor_config.json";
    if (!fs::exists(path)) {
        return;
    }
    const Json json = readJsonFile(path);
    const JsonObject processor(json, path.string());
    const auto patch = processor.findInteger("patch_size");
    const auto additional = processor.findInteger("num_additional_image_tokens");
    if (!patch || *patch < 1 || !additional) { // older files leave the count to the model
        return;
    }
    const std::int64_t side = config.vision.imageSize / *patch;
    const bool drops = processor.string("vision_feature_select_strategy", "") == "default";
    const std::int64_t stated = side * side + *additional - (drops ? 1 : 0);
    if (stated != config.imageTokensPerPicture()) {
        throwBadInput(fmt::format("{} asks for {} tokens a picture, but the tower of {} gives {}.",
                                  path.string(), stated, config.path,
                                  config.imageTokensPerPicture()),
                      "Correct patch_size, num_additional_image_tokens or "
                      "vision_feature_select_strategy.");
    }
}

std::string markerOf(const Tokenizer& tokenizer, const ModelConfig& config) {
    try {
        return tokenizer.tokenString(config.imageToken);
    } catch (const Error&) {
        throwBadInput(fmt::format("{} gives pictures the token id {}, but {} has no such token.",
                                  config.path, config.imageToken, tokenizer.origin()),
                      "config.json and tokenizer.json belong to different models.");
    }
}

} // namespace

PromptBuilder PromptBuilder::open(const fs::path& folder, const ModelConfig& config) {
    compareImageTokenCounts(folder, config);
    return {config, Tokenizer::open(folder), readImageProcessorConfig(folder),
            ChatTemplate::open(folder)};
}

PromptBuilder::PromptBuilder(const ModelConfig& config, Tokenizer tokenizer,
                             ImageProcessorConfig processor,
                             std::optional<ChatTemplate> chatTemplate)
    : m_config(config), m_tokenizer(std::move(tokenizer)), m_imageProcessor(std::move(processor)),
      m_template(std::move(chatTemplate)), m_imageMarker(markerOf(m_tokenizer, config)) {}

Prompt PromptBuilder::build(const PromptRequest& request) const {
    Prompt prompt;
    prompt.text = promptText(request, prompt);
    std::vector<TokenId> ids = m_tokenizer.encode(prompt.text, !request.applyTemplate);
    if (!request.applyTemplate && ids.size() > 1 && ids[0] == ids[1] &&
        m_tokenizer.isSpecial(ids[0]) &&
        prompt.text.starts_with(m_tokenizer.tokenString(ids[0]))) { // field case F113
        ids.erase(ids.begin());
        prompt.notes.push_back(fmt::format("The text begins with {} itself; the tokenizer's own "
                                           "was left out.",
                                           m_tokenizer.tokenString(ids[0])));
    }
    const auto markers = std::ranges::count(ids, m_config.imageToken);
    if (markers != std::ssize(request.images)) { // field case F055
        throwBadInput(fmt::format("The prompt has {} picture marker(s) {}, but {} picture(s) were "
                                  "given.",
                                  markers, m_imageMarker, request.images.size()),
                      request.applyTemplate
                          ? "Remove markers from the text, and check that the chat template "
                            "places pictures."
                          : "Put one marker into the text for each picture.");
    }
    addTokens(ids, addPictures(request, prompt), prompt);
    markTemplate(request, ids, prompt);
    return prompt;
}

std::string PromptBuilder::render(const std::string& words, std::size_t images,
                                  Prompt& prompt) const {
    RenderedChat chat = m_template->render(
        {{.role = "user", .text = words, .images = static_cast<int>(images)}}, m_imageMarker);
    prompt.notes.insert(prompt.notes.end(), chat.notes.begin(), chat.notes.end());
    return std::move(chat.text);
}

std::optional<PromptBuilder::Frame> PromptBuilder::findFrame(const PromptRequest& request) const {
    Prompt ignored;
    const std::string text = render(kStandIn, request.images.size(), ignored);
    const std::size_t begin = text.find(kStandIn);
    const std::size_t end = begin + kStandIn.size();
    if (begin == std::string::npos || text.find(kStandIn, end) != std::string::npos) {
        return std::nullopt;
    }
    return Frame{text.substr(0, begin), text.substr(end)};
}

std::string PromptBuilder::promptText(const PromptRequest& request, Prompt& prompt) const {
    if (!request.applyTemplate) {
        return request.text;
    }
    if (!m_template) {
        throwBadInput(fmt::format("The folder of {} has no chat template.", m_config.path),
                      fmt::format("Write the whole prompt yourself, with {} where a picture "
                                  "belongs, and turn the template off.",
                                  m_imageMarker));
    }
    if (!request.leaveOpen) {
        return render(request.text, request.images.size(), prompt);
    }
    const std::string text = render(request.text + kStandIn, request.images.size(), prompt);
    const std::size_t begin = text.find(kStandIn);
    const std::size_t end = begin + kStandIn.size();
    if (begin == std::string::npos || text.find(kStandIn, end) != std::string::npos) {
        throwBadInput(fmt::format("The chat template {} does not write the user's words exactly "
                                  "once, so no question can follow them later.",
                                  m_template->origin()),
                      "Ask one question per run, or write the whole prompt yourself and turn the "
                      "template off.");
    }
    prompt.questionTail = text.substr(end);
    return text.substr(0, begin);
}

/// By the bytes of the tokens: where they do not add up to the text (a tokenizer that rewrites it),
/// only special tokens are marked.
void PromptBuilder::markTemplate(const PromptRequest& request, const std::vector<TokenId>& ids,
                                 Prompt& prompt) const {
    std::vector<std::uint8_t> marked;
    const auto frame = request.applyTemplate ? findFrame(request) : std::nullopt;
    std::size_t words = prompt.text.size(), tail = prompt.text.size();
    if (frame && prompt.text.starts_with(frame->before)) {
        words = frame->before.size();
        tail -= !request.leaveOpen && prompt.text.ends_with(frame->after) ? frame->after.size() : 0;
    }
    std::size_t begin = 0;
    for (const TokenId id : ids) {
        const std::size_t end = begin + m_tokenizer.tokenBytes(id).size();
        const bool outside = frame && (end <= words || begin >= tail);
        marked.push_back(outside || m_tokenizer.isSpecial(id) ? 1 : 0);
        begin = end;
    }
    if (begin != prompt.text.size()) {
        std::ranges::transform(ids, marked.begin(), [this](TokenId id) -> std::uint8_t {
            return m_tokenizer.isSpecial(id) ? 1 : 0;
        });
    }
    for (std::size_t token = 0, row = 0; token < prompt.tokenIds.size(); ++token) {
        const bool image = prompt.tokenKind[token] == TokenKind::Image;
        prompt.fromTemplate.push_back(image ? 0 : marked[row]);
        const bool sameImage = image && token + 1 < prompt.tokenIds.size() &&
                               prompt.imageIndex[token + 1] == prompt.imageIndex[token];
        row += sameImage ? 0 : 1;
    }
}

std::vector<PromptBuilder::Boxes> PromptBuilder::addPictures(const PromptRequest& request,
                                                             Prompt& prompt) const {
    std::vector<Boxes> boxes;
    const std::int32_t side = m_config.vision.imageSize;
    for (const std::string& path : request.images) {
        Picture picture = decodePicture(
            fs::path(path), {.applyOrientation = request.applyOrientation}, prompt.notes);
        ProcessedImage processed = processImage(picture, m_imageProcessor);
        if (processed.size != ImageSize{side, side}) {
            throwBadInput(fmt::format("{} prepares the picture {} as {} x {} pixels, but the tower "
                                      "of {} takes {} x {}.",
                                      m_imageProcessor.source, path, processed.size.width,
                                      processed.size.height, m_config.path, side, side),
                          "The two files belong to different models.");
        }
        picture.resizedWidth = picture.resizedHeight = side;
        picture.gridColumns = picture.gridRows = m_config.vision.gridSide();
        boxes.push_back(patchBoxes(processed));
        prompt.pixelValues.push_back(std::move(processed.pixels));
        prompt.pictures.push_back(std::move(picture));
    }
    return boxes;
}

/// One box for each image token; the class token, where it is kept, comes first and has none.
PromptBuilder::Boxes PromptBuilder::patchBoxes(const ProcessedImage& image) const {
    Boxes boxes;
    if (!m_config.projector.dropsClassToken) {
        boxes.push_back(kNoBox);
    }
    const std::int32_t patch = m_config.vision.patchSize;
    const std::int32_t side = m_config.vision.gridSide();
    for (std::int32_t row = 0; row < side; ++row) {
        for (std::int32_t column = 0; column < side; ++column) {
            boxes.push_back(image.sourceBox(column * patch, row * patch, (column + 1) * patch,
                                            (row + 1) * patch));
        }
    }
    return boxes;
}

void PromptBuilder::addTokens(const std::vector<TokenId>& ids, const std::vector<Boxes>& boxes,
                              Prompt& prompt) const {
    const auto needed =
        std::ssize(ids) + std::ssize(boxes) * (m_config.imageTokensPerPicture() - 1);
    if (needed == 0) {
        throwBadInput("The prompt is empty.", "Write a question or give a picture.");
    }
    if (needed > m_config.decoder.maxPositions) { // field case F057
        throwBadInput(fmt::format("The prompt needs {} tokens, but the model was made for {}.",
                                  needed, m_config.decoder.maxPositions),
                      "Shorten the text or leave out pictures; nothing is cut off silently.");
    }
    const auto add = [&](TokenId id, TokenKind kind, std::int32_t image,
                         const std::array<float, 4>& box) {
        prompt.tokenIds.push_back(id);
        prompt.tokenText.push_back(kind == TokenKind::Image ? "" : m_tokenizer.tokenBytes(id));
        prompt.tokenKind.push_back(kind);
        prompt.imageIndex.push_back(image);
        prompt.patchBox.push_back(box);
        prompt.patchRole.push_back(PatchRole::Patch);
    };
    std::int32_t picture = 0;
    for (const TokenId id : ids) {
        if (id == m_config.imageToken) {
            for (const auto& box : boxes[static_cast<std::size_t>(picture)]) {
                add(id, TokenKind::Image, picture, box);
            }
            ++picture;
        } else {
            if (id >= m_config.decoder.vocabulary) {
                throwBadInput(
                    fmt::format("Token {} (\"{}\") is outside the model's vocabulary of {}.", id,
                                m_tokenizer.tokenString(id), m_config.decoder.vocabulary),
                    "config.json and tokenizer.json belong to different models.");
            }
            add(id, m_tokenizer.isSpecial(id) ? TokenKind::Special : TokenKind::Text, -1, kNoBox);
        }
    }
}

} // namespace ecokv::model
