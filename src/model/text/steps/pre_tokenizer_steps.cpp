// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/steps/pre_tokenizer_steps.h"

#include "base/error.h"
#include "model/text/byte_alphabet.h"
#include "model/text/split_behavior.h"
#include "model/text/steps/metaspace.h"
#include "model/text/steps/replacement.h"
#include "model/text/text_pattern.h"
#include "model/text/unicode.h"
#include "model/text/utf8.h"

#include <optional>

#include <fmt/format.h>

namespace ecokv::model {

namespace {

using Step = PreTokenizer::Step;
using Steps = std::vector<std::shared_ptr<const Step>>;

/// GPT-2's rule, built into the ByteLevel part.
constexpr const char* kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
/// Words and what is neither word nor space, with the word characters of Rust's regular
/// expressions.
constexpr const char* kWhitespacePattern =
    R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}]+)"
    R"(|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}\s]+)";

class PatternSplit : public Step {
public:
    PatternSplit(TextPattern pattern, SplitBehavior behavior, bool invert)
        : m_pattern(std::move(pattern)), m_behavior(behavior), m_invert(invert) {}

    void split(Word word, std::vector<Word>& parts) const override {
        const auto matches = m_pattern.findAll(word.text);
        appendParts(word, splitSpans(word.text.size(), matches, m_behavior, m_invert), parts);
    }

private:
    TextPattern m_pattern;
    SplitBehavior m_behavior;
    bool m_invert;
};

/// Splits at every character of a kind.
class CharacterSplit : public Step {
public:
    using Kind = bool (*)(char32_t c);

    CharacterSplit(Kind kind, SplitBehavior behavior) : m_kind(kind), m_behavior(behavior) {}

    void split(Word word, std::vector<Word>& parts) const override {
        std::vector<TextSpan> matches;
        for (std::size_t i = 0; i < word.text.size();) {
            const Utf8Char c = utf8At(word.text, i);
            if (m_kind(c.codePoint)) {
                matches.push_back({i, i + c.length});
            }
            i += c.length;
        }
        appendParts(word, splitSpans(word.text.size(), matches, m_behavior, false), parts);
    }

private:
    Kind m_kind;
    SplitBehavior m_behavior;
};

class ByteLevel : public Step {
public:
    ByteLevel(bool addPrefixSpace, std::optional<TextPattern> pattern)
        : m_addPrefixSpace(addPrefixSpace), m_pattern(std::move(pattern)) {}

    void split(Word word, std::vector<Word>& parts) const override {
        if (m_addPrefixSpace && !word.text.starts_with(' ')) {
            word.text = " " + word.text;
        }
        const std::size_t begin = parts.size();
        if (m_pattern) {
            const auto matches = m_pattern->findAll(word.text);
            appendParts(word, splitSpans(word.text.size(), matches, SplitBehavior::Isolated, false),
                        parts);
        } else {
            parts.push_back(std::move(word));
        }
        for (std::size_t i = begin; i < parts.size(); ++i) {
            parts[i].text = bytesToAlphabet(parts[i].text);
        }
    }

    bool writesByteAlphabet() const override { return true; }

private:
    bool m_addPrefixSpace;
    std::optional<TextPattern> m_pattern;
};

std::shared_ptr<const Step> makeByteLevel(const JsonObject& step) {
    std::optional<TextPattern> pattern;
    if (step.boolean("use_regex", true)) {
        pattern = TextPattern::regex(kGpt2Pattern, step.origin());
    }
    return std::make_shared<ByteLevel>(step.boolean("add_prefix_space", true), std::move(pattern));
}

std::shared_ptr<const Step> makeSplit(const JsonObject& step, const std::string& type) {
    if (type == "Split") {
        return std::make_shared<PatternSplit>(readPattern(step), parseSplitBehavior(step),
                                              step.boolean("invert", false));
    }
    if (type == "Whitespace") {
        return std::make_shared<PatternSplit>(TextPattern::regex(kWhitespacePattern, step.origin()),
                                              SplitBehavior::Removed, true);
    }
    if (type == "CharDelimiterSplit") {
        return std::make_shared<PatternSplit>(
            TextPattern::literal(step.string("delimiter", ""), step.origin()),
            SplitBehavior::Removed, false);
    }
    return nullptr;
}

std::shared_ptr<const Step> makeCharacterSplit(const JsonObject& step, const std::string& type) {
    if (type == "Digits") {
        const bool each = step.boolean("individual_digits", false);
        return std::make_shared<CharacterSplit>(&isNumeric, each ? SplitBehavior::Isolated
                                                                 : SplitBehavior::Contiguous);
    }
    if (type == "Punctuation") {
        return std::make_shared<CharacterSplit>(&isPunctuation, step.has("behavior")
                                                                    ? parseSplitBehavior(step)
                                                                    : SplitBehavior::Isolated);
    }
    if (type == "WhitespaceSplit") {
        return std::make_shared<CharacterSplit>(&isWhiteSpace, SplitBehavior::Removed);
    }
    return nullptr;
}

} // namespace

void addPreTokenizerSteps(const JsonObject& step, Steps& steps) {
    const std::string type = step.string("type", "");
    if (type == "BertPreTokenizer") {
        steps.push_back(std::make_shared<CharacterSplit>(&isWhiteSpace, SplitBehavior::Removed));
        steps.push_back(std::make_shared<CharacterSplit>(&isPunctuation, SplitBehavior::Isolated));
        return;
    }
    auto made = type == "ByteLevel"   ? makeByteLevel(step)
                : type == "Metaspace" ? std::make_shared<MetaspaceSplit>(Metaspace::fromJson(step))
                                      : makeSplit(step, type);
    made = made ? made : makeCharacterSplit(step, type);
    if (!made) {
        throwBadInput(
            fmt::format("{}: the pre-tokeniser \"{}\" is not supported.", step.origin(), type),
            "Supported are ByteLevel, Metaspace, Split, Digits, Punctuation, Whitespace, "
            "WhitespaceSplit, CharDelimiterSplit, BertPreTokenizer and sequences.");
    }
    steps.push_back(std::move(made));
}

} // namespace ecokv::model
