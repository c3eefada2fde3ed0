#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A normaliser that looks at one character at a time.

#include "model/text/normalizer.h"

#include <string>

namespace ecokv::model {

class CharacterRewriter : public Normalizer::Step {
public:
    /// Appends to the text what becomes of the character; nothing drops it.
    using Rewrite = void (*)(std::string& text, char32_t c);

    explicit CharacterRewriter(Rewrite rewrite) : m_rewrite(rewrite) {}
    void apply(NormalizedText& text) const override;

private:
    Rewrite m_rewrite;
};

} // namespace ecokv::model
