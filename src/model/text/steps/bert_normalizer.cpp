// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/steps/bert_normalizer.h"

#include "model/text/unicode.h"
#include "model/text/utf8.h"

namespace ecokv::model {

namespace {

void rewriteClean(std::string& text, char32_t c) {
    const bool space = isWhiteSpace(c);
    const bool line = c == '\t' || c == '\n' || c == '\r';
    if (c != 0 && c != 0xfffd && (line || !isOther(c))) {
        appendUtf8(text, space ? U' ' : c);
    }
}

bool isChinese(char32_t c) {
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
           (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
           (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

void rewriteSpaced(std::string& text, char32_t c) {
    text += isChinese(c) ? " " : "";
    appendUtf8(text, c);
    text += isChinese(c) ? " " : "";
}

void rewriteWithoutAccents(std::string& text, char32_t c) {
    if (!isNonspacingMark(c)) {
        appendUtf8(text, c);
    }
}

} // namespace

BertNormalizer::BertNormalizer(const JsonObject& step)
    : m_cleans(step.boolean("clean_text", true)),
      m_spacesChinese(step.boolean("handle_chinese_chars", true)),
      m_lowers(step.boolean("lowercase", true)),
      m_stripsAccents(step.boolean("strip_accents", m_lowers)) {}

void BertNormalizer::apply(NormalizedText& text) const {
    if (m_cleans) {
        CharacterRewriter(&rewriteClean).apply(text);
    }
    if (m_spacesChinese) {
        CharacterRewriter(&rewriteSpaced).apply(text);
    }
    if (m_stripsAccents) {
        text.text = toForm(text.text, UnicodeForm::Nfd);
        CharacterRewriter(&rewriteWithoutAccents).apply(text);
    }
    if (m_lowers) {
        CharacterRewriter(&appendLower).apply(text);
    }
}

} // namespace ecokv::model
