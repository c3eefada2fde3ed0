// SPDX-License-Identifier: GPL-3.0-or-later
// What a prompt's words may hold of the tokens that stand for pictures and videos (field case
// F055).
#include "base/error.h"
#include "model/prompt_builder.h"

#include <fmt/format.h>

namespace ecokv::model {

std::size_t PromptBuilder::markersIn(std::string_view text) const {
    std::size_t count = 0;
    for (std::size_t at = m_marker.empty() ? std::string::npos : text.find(m_marker);
         at != std::string::npos; at = text.find(m_marker, at + m_marker.size())) {
        ++count;
    }
    return count;
}

std::vector<TokenId> PromptBuilder::encodeQuestion(const std::string& text) const {
    refuseOtherMarkers(text);
    if (markersIn(text) > 0) { // field case F055
        throwBadInput(fmt::format("The question holds the picture marker {}, but pictures belong "
                                  "to the context.",
                                  m_marker),
                      "Remove the marker, or start a new run with that picture.");
    }
    return m_tokenizer.encode(text, false);
}

/// Tokens that stand for rows of features besides the marker: nothing would fill them (F055).
void PromptBuilder::refuseOtherMarkers(const std::string& text) const {
    if (!m_processor) {
        return;
    }
    const std::string video = m_processor->videoMarker();
    if (!video.empty() && text.find(video) != std::string::npos) {
        throwBadInput(
            fmt::format("The words hold {}, which stands for a video, and videos are not read.",
                        video),
            "Remove it from the words; frames of a video can be given as pictures.");
    }
    const std::string token = m_tokenizer.tokenString(m_config.imageToken);
    if (token != m_marker && text.find(token) != std::string::npos) {
        throwBadInput(
            fmt::format("The words hold {}, which the model's processor writes for parts "
                        "of a picture.",
                        token),
            fmt::format("Remove it from the words; a whole picture is marked by {}.", m_marker));
    }
}

void PromptBuilder::requireMatchingMarkers(const PromptRequest& request,
                                           const std::string& text) const {
    if (!m_processor) {
        return;
    }
    const std::size_t markers = markersIn(text);
    if (markers != request.images.size()) { // field case F055
        throwBadInput(fmt::format("The prompt has {} picture marker(s) {}, but {} picture(s) were "
                                  "given.",
                                  markers, m_marker, request.images.size()),
                      request.applyTemplate
                          ? "Remove markers from the text, and check that the chat template "
                            "places pictures."
                          : "Put one marker into the text for each picture.");
    }
}

} // namespace ecokv::model
