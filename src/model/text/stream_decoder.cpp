// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/stream_decoder.h"

namespace ecokv::model {

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skipSpecialTokens)
    : m_tokenizer(tokenizer), m_skipSpecial(skipSpecialTokens) {}

std::string StreamDecoder::pendingText() const {
    return m_started ? m_tokenizer.decodeFollowing(m_pending, m_skipSpecial)
                     : m_tokenizer.decode(m_pending, m_skipSpecial);
}

std::string StreamDecoder::push(TokenId id) {
    if (m_skipSpecial && m_tokenizer.isSpecial(id)) {
        return {};
    }
    m_pending.push_back(id);
    std::string text = pendingText();
    // An empty text waits too: a space in front is only dropped from the first token.
    if (text.empty() || text.ends_with("\ufffd")) {
        return {};
    }
    m_pending.clear();
    m_started = true;
    return text;
}

std::string StreamDecoder::finish() {
    std::string text = m_pending.empty() ? std::string() : pendingText();
    m_pending.clear();
    m_started = m_started || !text.empty();
    return text;
}

} // namespace ecokv::model
