#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// BERT's cleaning of text: control characters, spaces around Chinese characters, accents, case.

#include "model/text/normalizer.h"
#include "model/text/steps/character_rewriter.h"

namespace ecokv::model {

class BertNormalizer : public Normalizer::Step {
public:
    explicit BertNormalizer(const JsonObject& step);
    void apply(NormalizedText& text) const override;

private:
    bool m_cleans, m_spacesChinese, m_lowers, m_stripsAccents;
};

} // namespace ecokv::model
