#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// From words and picture files to a Prompt: template, pictures prepared by the family's processor,
// markers expanded in the text, tokens, and for each image token its place in the source picture.
// Immutable once opened.

#include "model/families/family.h"
#include "model/picture_processor.h"
#include "model/prompt.h"
#include "model/text/chat_template.h"
#include "model/text/tokenizer.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ecokv::model {

/// What to do where no chat template can be used; `marker` as of imageMarker().
std::string plainPromptAdvice(const std::string& marker);

class PromptBuilder {
public:
    static PromptBuilder open(const std::filesystem::path& folder, const Family& family);
    /// From parts that are open already.
    PromptBuilder(const Family& family, Tokenizer tokenizer,
                  std::unique_ptr<const PictureProcessor> processor,
                  std::optional<ChatTemplate> chatTemplate);

    /// Throws Error{BadInput}: pictures and markers do not match (F055), too long (F057), ...
    Prompt build(const PromptRequest& request) const;

    const Tokenizer& tokenizer() const { return m_tokenizer; }
    const PictureProcessor* pictureProcessor() const { return m_processor.get(); } ///< or null
    const std::optional<ChatTemplate>& chatTemplate() const { return m_template; }
    const std::string& imageMarker() const { return m_marker; } ///< "<image>"; "" = text only
    /// Ids of words that follow a prompt; throws Error{BadInput} if they hold a picture's marker.
    std::vector<TokenId> encodeQuestion(const std::string& text) const;

private:
    /// Text around the user's words; found by rendering a stand-in for them.
    struct Frame {
        std::string before, after;
    };
    /// The prompt's text with every marker replaced, and what the pictures add to it.
    struct Expansion {
        std::string text;
        std::vector<PreparedPicture> pictures;
    };

    std::string render(const std::string& words, std::size_t images, Prompt& prompt) const;
    std::optional<Frame> findFrame(const PromptRequest& request) const;
    std::string promptText(const PromptRequest& request, Prompt& prompt) const;
    std::vector<TokenId> encode(const PromptRequest& request, const std::string& text,
                                Prompt& prompt) const;
    std::vector<PreparedPicture> preparePictures(const PromptRequest& request,
                                                 Prompt& prompt) const;
    void refuseOtherMarkers(const std::string& text) const;
    void requireMatchingMarkers(const PromptRequest& request, const std::string& text) const;
    /// `text` with the markers from `first` on replaced.
    std::string expand(const std::string& text, const std::vector<PreparedPicture>& pictures,
                       std::size_t first = 0) const;
    std::size_t markersIn(std::string_view text) const;
    void addTokens(const std::vector<TokenId>& ids, const std::vector<PreparedPicture>& pictures,
                   Prompt& prompt) const;
    void markSeparators(Prompt& prompt) const;
    void markTemplate(const PromptRequest& request, const Expansion& expansion,
                      Prompt& prompt) const;

    ModelConfig m_config;
    Tokenizer m_tokenizer;
    std::unique_ptr<const PictureProcessor> m_processor;
    std::optional<ChatTemplate> m_template;
    std::string m_marker;
};

} // namespace ecokv::model
