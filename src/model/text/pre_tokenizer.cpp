// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/pre_tokenizer.h"

#include "model/text/steps/pre_tokenizer_steps.h"

#include <algorithm>

namespace ecokv::model {

PreTokenizer PreTokenizer::fromJson(const Json* node, const std::string& origin) {
    PreTokenizer preTokenizer;
    if (node != nullptr) {
        preTokenizer.add(*node, origin);
    }
    return preTokenizer;
}

void PreTokenizer::add(const Json& node, const std::string& origin) {
    const JsonObject step(node, origin, "pre_tokenizer");
    if (step.string("type", "") != "Sequence") {
        addPreTokenizerSteps(step, m_steps);
        return;
    }
    const Json* parts = step.find("pretokenizers");
    for (const Json& part : parts != nullptr ? *parts : Json::array()) {
        add(part, origin);
    }
}

bool PreTokenizer::writesByteAlphabet() const {
    return std::ranges::any_of(m_steps,
                               [](const auto& step) { return step->writesByteAlphabet(); });
}

std::vector<Word> PreTokenizer::split(Word piece) const {
    std::vector<Word> words;
    words.push_back(std::move(piece));
    for (const auto& step : m_steps) {
        std::vector<Word> finer;
        for (Word& word : words) {
            step->split(std::move(word), finer);
        }
        std::erase_if(finer, [](const Word& word) { return word.text.empty(); });
        words = std::move(finer);
    }
    return words;
}

} // namespace ecokv::model
