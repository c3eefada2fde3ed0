#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Text while ids arrive: what does not end in a complete character waits for the next id (field
// case F118), and the pieces together are what decoding all ids at once gives. One exception: of a
// row of byte tokens that ends broken, the complete characters in front have been shown already,
// where the reference replaces the whole row. One thread at a time; outlives no tokenizer.

#include "model/text/tokenizer.h"

#include <string>
#include <vector>

namespace ecokv::model {

class StreamDecoder {
public:
    explicit StreamDecoder(const Tokenizer& tokenizer, bool skipSpecialTokens = true);
    /// Text that became complete with this id; may be empty.
    std::string push(TokenId id);
    /// What is left, broken bytes as U+FFFD.
    std::string finish();

private:
    std::string pendingText() const;

    const Tokenizer& m_tokenizer;
    bool m_skipSpecial;
    bool m_started = false; ///< text was shown, so what follows is not at the beginning
    std::vector<TokenId> m_pending;
};

} // namespace ecokv::model
