// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/steps/normalizer_steps.h"

#include "base/error.h"
#include "model/text/byte_alphabet.h"
#include "model/text/steps/bert_normalizer.h"
#include "model/text/steps/character_rewriter.h"
#include "model/text/steps/precompiled_map.h"
#include "model/text/steps/replacement.h"
#include "model/text/unicode.h"
#include "model/text/utf8.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace ecokv::model {

namespace {

using Step = Normalizer::Step;

class FormStep : public Step {
public:
    explicit FormStep(UnicodeForm form) : m_form(form) {}
    void apply(NormalizedText& text) const override { text.text = toForm(text.text, m_form); }

private:
    UnicodeForm m_form;
};

class StripStep : public Step {
public:
    StripStep(bool left, bool right) : m_left(left), m_right(right) {}

    void apply(NormalizedText& text) const override {
        std::size_t begin = 0, kept = 0; // `kept`: end of the last character that is no space
        bool leading = true;
        for (std::size_t i = 0; i < text.text.size();) {
            const Utf8Char c = utf8At(text.text, i);
            i += c.length;
            leading = leading && isWhiteSpace(c.codePoint);
            begin = leading ? i : begin;
            kept = isWhiteSpace(c.codePoint) ? kept : i;
        }
        begin = m_left ? begin : 0;
        const std::size_t end = m_right ? std::max(kept, begin) : text.text.size();
        text.keepsStart = text.keepsStart && begin == 0;
        text.text = text.text.substr(begin, end - begin);
    }

private:
    bool m_left, m_right;
};

class ReplaceStep : public Step {
public:
    explicit ReplaceStep(Replacement replacement) : m_replacement(std::move(replacement)) {}

    void apply(NormalizedText& text) const override {
        text.keepsStart = text.keepsStart && !m_replacement.removesStart(text.text);
        text.text = m_replacement.apply(text.text);
    }

private:
    Replacement m_replacement;
};

class PrependStep : public Step {
public:
    explicit PrependStep(std::string prefix) : m_prefix(std::move(prefix)) {}

    void apply(NormalizedText& text) const override {
        if (!text.text.empty()) {
            text.text = m_prefix + text.text;
        }
    }

private:
    std::string m_prefix;
};

class PrecompiledStep : public Step {
public:
    explicit PrecompiledStep(PrecompiledMap map) : m_map(std::move(map)) {}
    void apply(NormalizedText& text) const override { text.text = m_map.apply(text.text); }

private:
    PrecompiledMap m_map;
};

class ByteLevelStep : public Step {
public:
    void apply(NormalizedText& text) const override { text.text = bytesToAlphabet(text.text); }
    bool writesByteAlphabet() const override { return true; }
};

/// Control characters go, other spaces become plain ones, as SentencePiece's "nmt" rules say.
void rewriteNmt(std::string& text, char32_t c) {
    const bool control = (c >= 0x1 && c <= 0x8) || c == 0xb || (c >= 0xe && c <= 0x1f) ||
                         c == 0x7f || c == 0x8f || c == 0x9f;
    const bool space = c == 0x9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
                       (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                       c == 0xfeff || c == 0xfffd;
    if (!control) {
        appendUtf8(text, space ? U' ' : c);
    }
}

void rewriteWithoutMarks(std::string& text, char32_t c) {
    if (!isMark(c)) {
        appendUtf8(text, c);
    }
}

} // namespace

std::shared_ptr<const Step> makeNormalizerStep(const JsonObject& step) {
    const std::string type = step.string("type", "");
    constexpr std::array kForms{
        std::pair{"NFC", UnicodeForm::Nfc},
        std::pair{"NFD", UnicodeForm::Nfd},
        std::pair{"NFKC", UnicodeForm::Nfkc},
        std::pair{"NFKD", UnicodeForm::Nfkd},
    };
    for (const auto& [name, form] : kForms) {
        if (type == name) {
            return std::make_shared<FormStep>(form);
        }
    }
    constexpr std::array kRewriters{
        std::pair{"Lowercase", &appendLower},
        std::pair{"Nmt", &rewriteNmt},
        std::pair{"StripAccents", &rewriteWithoutMarks},
    };
    for (const auto& [name, rewrite] : kRewriters) {
        if (type == name) {
            return std::make_shared<CharacterRewriter>(rewrite);
        }
    }
    if (type == "Strip") {
        return std::make_shared<StripStep>(step.boolean("strip_left", true),
                                           step.boolean("strip_right", true));
    }
    if (type == "Replace") {
        return std::make_shared<ReplaceStep>(Replacement::fromJson(step));
    }
    if (type == "Prepend") {
        return std::make_shared<PrependStep>(step.string("prepend", ""));
    }
    if (type == "Precompiled") {
        return std::make_shared<PrecompiledStep>(PrecompiledMap::fromJson(step));
    }
    if (type == "ByteLevel") {
        return std::make_shared<ByteLevelStep>();
    }
    if (type == "BertNormalizer") {
        return std::make_shared<BertNormalizer>(step);
    }
    throwBadInput(fmt::format("{}: the normaliser \"{}\" is not supported.", step.origin(), type),
                  "Supported are NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Nmt, "
                  "Replace, Prepend, Precompiled, ByteLevel, BertNormalizer and sequences.");
}

} // namespace ecokv::model
