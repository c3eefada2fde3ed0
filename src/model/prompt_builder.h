#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// From words and picture files to a Prompt: template, tokens, image tokens expanded, pixels, and
// the box in the source picture that each image token stands for. Immutable once opened.

#include "model/image/image_processor.h"
#include "model/model_config.h"
#include "model/prompt.h"
#include "model/text/chat_template.h"
#include "model/text/tokenizer.h"

#include <filesystem>
#include <optional>
#include <string>

namespace ecokv::model {

class PromptBuilder {
public:
    static PromptBuilder open(const std::filesystem::path& folder, const ModelConfig& config);

    /// Throws Error{BadInput}: pictures and markers do not match (F055), too long (F057), ...
    Prompt build(const PromptRequest& request) const;

    const Tokenizer& tokenizer() const { return m_tokenizer; }
    const ImageProcessorConfig& imageProcessor() const { return m_imageProcessor; }
    const std::optional<ChatTemplate>& chatTemplate() const { return m_template; }
    const std::string& imageMarker() const { return m_imageMarker; } ///< "<image>"

private:
    PromptBuilder(const ModelConfig& config, Tokenizer tokenizer, ImageProcessorConfig processor,
                  std::optional<ChatTemplate> chatTemplate);

    using Boxes = std::vector<std::array<float, 4>>; ///< [image token of one picture]

    /// Text around the user's words; found by rendering a stand-in for them.
    struct Frame {
        std::string before, after;
    };

    std::string render(const std::string& words, std::size_t images, Prompt& prompt) const;
    std::optional<Frame> findFrame(const PromptRequest& request) const;
    std::string promptText(const PromptRequest& request, Prompt& prompt) const;
    void markTemplate(const PromptRequest& request, const std::vector<TokenId>& ids,
                      Prompt& prompt) const;
    /// Boxes of every picture, in order.
    std::vector<Boxes> addPictures(const PromptRequest& request, Prompt& prompt) const;
    void addTokens(const std::vector<TokenId>& ids, const std::vector<Boxes>& boxes,
                   Prompt& prompt) const;
    Boxes patchBoxes(const ProcessedImage& image) const;

    ModelConfig m_config;
    Tokenizer m_tokenizer;
    ImageProcessorConfig m_imageProcessor;
    std::optional<ChatTemplate> m_template;
    std::string m_imageMarker;
};

} // namespace ecokv::model
