// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/steps/character_rewriter.h"

#include "model/text/utf8.h"

namespace ecokv::model {

void CharacterRewriter::apply(NormalizedText& text) const {
    std::string result;
    result.reserve(text.text.size());
    for (std::size_t i = 0; i < text.text.size();) {
        const Utf8Char c = utf8At(text.text, i);
        m_rewrite(result, c.codePoint);
        text.keepsStart = text.keepsStart && !(i == 0 && result.empty());
        i += c.length;
    }
    text.text = std::move(result);
}

} // namespace ecokv::model
