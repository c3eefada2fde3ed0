// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/prompt_builder.h"

#include "base/error.h"
#include "model/file_advice.h"
#include "model/image/image_decoder.h"
#include "model/text/token_spans.h"

#include <algorithm>

#include <fmt/format.h>

namespace ecokv::model {

namespace fs = std::filesystem;

namespace {

/// Stands for the user's words when the text around them is looked for; never tokenised.
const std::string kStandIn = "USERSWORDSGOHERE7301";

} // namespace

std::string plainPromptAdvice(const std::string& marker) {
    const std::string where =
        marker.empty() ? std::string() : fmt::format(", with {} where a picture belongs", marker);
    return fmt::format("Write the whole prompt yourself{}, and give --plain-prompt, which turns "
                       "the template off.",
                       where);
}

PromptBuilder PromptBuilder::open(const fs::path& folder, const Family& family) {
    Tokenizer tokenizer = Tokenizer::open(folder);
    auto processor = family.openProcessor(folder, tokenizer);
    return {family, std::move(tokenizer), std::move(processor), ChatTemplate::open(folder)};
}

PromptBuilder::PromptBuilder(const Family& family, Tokenizer tokenizer,
                             std::unique_ptr<const PictureProcessor> processor,
                             std::optional<ChatTemplate> chatTemplate)
    : m_config(family.config()), m_tokenizer(std::move(tokenizer)),
      m_processor(std::move(processor)), m_template(std::move(chatTemplate)),
      m_marker(m_processor ? m_processor->marker() : "") {}

Prompt PromptBuilder::build(const PromptRequest& request) const {
    if (!m_processor && !request.images.empty()) {
        throwBadInput(fmt::format("The model of {} reads text only, but {} picture(s) were given.",
                                  m_config.path, request.images.size()),
                      "Leave the pictures out, or open a multimodal model.");
    }
    Prompt prompt;
    prompt.text = promptText(request, prompt);
    refuseOtherMarkers(prompt.text);
    requireMatchingMarkers(request, prompt.text);
    Expansion expansion{{}, preparePictures(request, prompt)};
    expansion.text = expand(prompt.text, expansion.pictures);
    addTokens(encode(request, expansion.text, prompt), expansion.pictures, prompt);
    markSeparators(prompt);
    markTemplate(request, expansion, prompt);
    for (PreparedPicture& picture : expansion.pictures) {
        prompt.pictureInputs.push_back(std::move(picture.input));
    }
    if (m_processor) {
        prompt.ropePositions = m_processor->ropePositions(prompt);
    }
    return prompt;
}

std::vector<TokenId> PromptBuilder::encode(const PromptRequest& request, const std::string& text,
                                           Prompt& prompt) const {
    std::vector<TokenId> ids = m_tokenizer.encode(text, !request.applyTemplate);
    if (!request.applyTemplate && ids.size() > 1 && ids[0] == ids[1] &&
        m_tokenizer.isSpecial(ids[0]) &&
        text.starts_with(m_tokenizer.tokenString(ids[0])) && // field case F113
        ids.size() > m_tokenizer.encode(text, false).size()) {
        ids.erase(ids.begin());
        prompt.notes.push_back(fmt::format("The text begins with {} itself; the tokenizer's own "
                                           "was left out.",
                                           m_tokenizer.tokenString(ids[0])));
    }
    return ids;
}

std::string PromptBuilder::expand(const std::string& text,
                                  const std::vector<PreparedPicture>& pictures,
                                  std::size_t first) const {
    std::string expanded;
    std::size_t from = 0;
    for (std::size_t picture = first; picture < pictures.size(); ++picture) {
        const std::size_t at = text.find(m_marker, from);
        if (at == std::string::npos) {
            break;
        }
        expanded += text.substr(from, at - from) + pictures[picture].text;
        from = at + m_marker.size();
    }
    return expanded + text.substr(from);
}

std::string PromptBuilder::render(const std::string& words, std::size_t images,
                                  Prompt& prompt) const {
    RenderedChat chat = m_template->render(
        {{.role = "user", .text = words, .images = static_cast<int>(images)}}, m_marker);
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
                      plainPromptAdvice(m_marker));
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
                      fmt::format("Ask one question per run. Or: {}", plainPromptAdvice(m_marker)));
    }
    prompt.questionTail = text.substr(end);
    return text.substr(0, begin);
}

/// By where the tokens stand in the text; of those that a tokenizer rewrote, only special ones are
/// marked.
void PromptBuilder::markTemplate(const PromptRequest& request, const Expansion& expansion,
                                 Prompt& prompt) const {
    const auto frame = request.applyTemplate ? findFrame(request) : std::nullopt;
    std::size_t words = expansion.text.size(), tail = expansion.text.size();
    if (frame && prompt.text.starts_with(frame->before)) {
        words = expand(frame->before, expansion.pictures).size();
        if (!request.leaveOpen && prompt.text.ends_with(frame->after)) {
            const std::size_t first = expansion.pictures.size() - markersIn(frame->after);
            tail -= expand(frame->after, expansion.pictures, first).size();
        }
    }
    const auto spans = tokenSpans(m_tokenizer, prompt.tokenIds, expansion.text);
    for (std::size_t token = 0; token < prompt.tokenIds.size(); ++token) {
        const auto& span = spans[token];
        const bool outside = frame && span && (span->end <= words || span->begin >= tail);
        const bool written = outside || prompt.tokenKind[token] == TokenKind::Special;
        const bool image = prompt.tokenKind[token] == TokenKind::Image;
        prompt.fromTemplate.push_back(!image && written ? 1 : 0);
    }
}

std::vector<PreparedPicture> PromptBuilder::preparePictures(const PromptRequest& request,
                                                            Prompt& prompt) const {
    std::vector<PreparedPicture> pictures;
    for (const std::string& path : request.images) {
        Picture picture = decodePicture(fs::path(path), request.reading, prompt.notes);
        PreparedPicture prepared = m_processor->prepare(picture, request.images.size());
        picture.resizedWidth = prepared.resizedWidth;
        picture.resizedHeight = prepared.resizedHeight;
        picture.gridColumns = prepared.gridColumns;
        picture.gridRows = prepared.gridRows;
        prompt.pictures.push_back(std::move(picture));
        pictures.push_back(std::move(prepared));
    }
    return pictures;
}

void PromptBuilder::addTokens(const std::vector<TokenId>& ids,
                              const std::vector<PreparedPicture>& pictures, Prompt& prompt) const {
    if (ids.empty()) {
        throwBadInput("The prompt is empty.", "Write a question or give a picture.");
    }
    if (std::ssize(ids) > m_config.decoder.maxPositions) { // field case F057
        throwBadInput(fmt::format("The prompt needs {} tokens, but the model was made for {}.",
                                  ids.size(), m_config.decoder.maxPositions),
                      "Shorten the text or leave out pictures; nothing is cut off silently.");
    }
    const auto add = [&](TokenId id, TokenKind kind, std::int32_t image, const ImageToken& token) {
        prompt.tokenIds.push_back(id);
        prompt.tokenText.push_back(kind == TokenKind::Image ? "" : m_tokenizer.tokenBytes(id));
        prompt.tokenKind.push_back(kind);
        prompt.imageIndex.push_back(image);
        prompt.patchBox.push_back(token.box);
        prompt.patchRole.push_back(token.role);
    };
    std::size_t picture = 0, used = 0, needed = 0, found = 0;
    for (const PreparedPicture& prepared : pictures) {
        needed += prepared.tokens.size();
    }
    for (const TokenId id : ids) {
        if (id == m_config.imageToken && m_processor) {
            ++found;
            while (picture < pictures.size() && used == pictures[picture].tokens.size()) {
                ++picture;
                used = 0;
            }
            if (picture < pictures.size()) {
                add(id, TokenKind::Image, static_cast<std::int32_t>(picture),
                    pictures[picture].tokens[used++]);
            }
            continue;
        }
        if (id >= m_config.decoder.vocabulary) {
            throwBadInput(fmt::format("Token {} (\"{}\") is outside the model's vocabulary of {}.",
                                      id, m_tokenizer.tokenString(id), m_config.decoder.vocabulary),
                          kMixedFilesAdvice);
        }
        add(id, m_tokenizer.isSpecial(id) ? TokenKind::Special : TokenKind::Text, -1, {});
    }
    if (found != needed) { // field case F054
        throwBadInput(
            fmt::format("The prompt has {} image tokens for {} rows of features.", found, needed),
            "Remove the model's image tokens from the words.");
    }
}

/// What the processor wrote between the image tokens of one picture.
void PromptBuilder::markSeparators(Prompt& prompt) const {
    std::size_t previous = prompt.tokenIds.size(); // the last image token, or none
    for (std::size_t token = 0; token < prompt.tokenIds.size(); ++token) {
        if (prompt.tokenKind[token] != TokenKind::Image) {
            continue;
        }
        if (previous < token && prompt.imageIndex[previous] == prompt.imageIndex[token]) {
            for (std::size_t between = previous + 1; between < token; ++between) {
                prompt.imageIndex[between] = prompt.imageIndex[token];
                prompt.patchRole[between] = PatchRole::Separator;
            }
        }
        previous = token;
    }
}

} // namespace ecokv::model
