// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/template_note.h"

#include <gtest/gtest.h>

namespace ecokv::session {

namespace {

/// F033: a chat prompt of 12 tokens, 5 of them written by the template.
model::Prompt chatPrompt() {
    model::Prompt prompt;
    prompt.tokenText = {"<s>", "\n", "Q", ":", "W", "h", "o", "?", " ", "x", "\n", "A"};
    prompt.fromTemplate = {1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1};
    prompt.tokenIds.assign(12, 7);
    return prompt;
}

/// Two heads that keep these 6 tokens each.
std::vector<std::uint8_t> kept(const std::vector<int>& first, const std::vector<int>& second) {
    std::vector<std::uint8_t> mask(24, 0);
    for (const int token : first) {
        mask[static_cast<std::size_t>(token)] = 1;
    }
    for (const int token : second) {
        mask[static_cast<std::size_t>(12 + token)] = 1;
    }
    return mask;
}

} // namespace

TEST(TemplateNote, namesTemplateTokensThatLeftWithTheirPositions) {
    const std::string note =
        evictedTemplateNote(chatPrompt(), kept({0, 7, 8, 9, 10, 11}, {4, 7, 8, 9, 10, 11}));
    EXPECT_NE(note.find("\"<s>\" at 0 (1 of 2 heads)"), std::string::npos) << note;
    EXPECT_NE(note.find("\"\\n\" at 1 (2 of 2 heads)"), std::string::npos) << note;
    EXPECT_NE(note.find("\"Q\" at 2 (2 of 2 heads)"), std::string::npos) << note;
    EXPECT_EQ(note.find("\"W\""), std::string::npos) << note; // the user's own word
    EXPECT_EQ(note.find("at 10"), std::string::npos) << note; // kept everywhere
}

TEST(TemplateNote, isSilentWhereTheTemplateStays) {
    const std::vector<int> all{0, 1, 2, 10, 11, 5};
    EXPECT_EQ(evictedTemplateNote(chatPrompt(), kept(all, all)), "");
    EXPECT_EQ(evictedTemplateNote(model::Prompt{}, {}), "");
}

TEST(TemplateNote, aLongTemplateIsCountedNotListed) {
    model::Prompt prompt = chatPrompt();
    prompt.fromTemplate.assign(12, 1);
    const std::string note = evictedTemplateNote(prompt, std::vector<std::uint8_t>(24, 0));
    EXPECT_NE(note.find("and 4 more"), std::string::npos) << note;
}

} // namespace ecokv::session
