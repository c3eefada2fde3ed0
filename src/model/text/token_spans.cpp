// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/token_spans.h"

#include "model/text/tokenizer.h"
#include "model/text/unicode.h"

namespace ecokv::model {

namespace {

using Spans = std::vector<std::optional<TextSpan>>;

class Walk {
public:
    Walk(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, std::string_view text)
        : m_tokenizer(tokenizer), m_ids(ids), m_text(text), m_spans(ids.size()) {}

    Spans run() {
        std::size_t first = 0; // token without span
        for (std::size_t end = 0; first < m_ids.size(); ++first) {
            const auto span = spanFrom(end, first);
            if (!span) {
                break;
            }
            m_spans[first] = span;
            end = span->end;
        }
        std::size_t begin = m_text.size();
        for (std::size_t last = m_ids.size(); last > first; --last) {
            const auto span = spanUpTo(begin, last - 1);
            if (!span) {
                break;
            }
            m_spans[last - 1] = span;
            begin = span->begin;
        }
        return std::move(m_spans);
    }

private:
    bool isAdded(std::size_t token) const { return m_tokenizer.isAdded(m_ids[token]); }
    /// A piece of text begins here, in front of which encoding may have put a space.
    bool beginsPiece(std::size_t token) const { return token == 0 || isAdded(token - 1); }

    std::optional<TextSpan> spanFrom(std::size_t begin, std::size_t token) {
        const std::string bytes = m_tokenizer.tokenBytes(m_ids[token]);
        const std::string_view rest = m_text.substr(begin);
        m_maySkipSpace = m_maySkipSpace || beginsPiece(token);
        if (rest.starts_with(bytes)) {
            return TextSpan{begin, begin + bytes.size()};
        }
        if (m_maySkipSpace && bytes.starts_with(' ') && rest.starts_with(bytes.substr(1))) {
            m_maySkipSpace = false;
            return TextSpan{begin, begin + bytes.size() - 1};
        }
        const std::size_t space = leadingWhiteSpace(rest); // taken away by lstrip or rstrip
        if ((isAdded(token) || beginsPiece(token)) && rest.substr(space).starts_with(bytes)) {
            return TextSpan{begin + space, begin + space + bytes.size()};
        }
        return std::nullopt;
    }

    std::optional<TextSpan> spanUpTo(std::size_t end, std::size_t token) const {
        const std::string bytes = m_tokenizer.tokenBytes(m_ids[token]);
        const std::string_view rest = m_text.substr(0, end);
        if (rest.ends_with(bytes)) {
            return TextSpan{end - bytes.size(), end};
        }
        if (beginsPiece(token) && bytes.starts_with(' ') && rest.ends_with(bytes.substr(1))) {
            return TextSpan{end + 1 - bytes.size(), end};
        }
        const std::size_t kept = end - trailingWhiteSpace(rest);
        const bool mayStrip = isAdded(token) || (token + 1 < m_ids.size() && isAdded(token + 1));
        if (mayStrip && rest.substr(0, kept).ends_with(bytes)) {
            return TextSpan{kept - bytes.size(), kept};
        }
        return std::nullopt;
    }

    const Tokenizer& m_tokenizer;
    const std::vector<TokenId>& m_ids;
    std::string_view m_text;
    Spans m_spans;
    bool m_maySkipSpace = false; ///< the space in front of the current piece was not met yet
};

} // namespace

std::vector<std::optional<TextSpan>>
tokenSpans(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, std::string_view text) {
    return Walk(tokenizer, ids, text).run();
}

} // namespace ecokv::model
