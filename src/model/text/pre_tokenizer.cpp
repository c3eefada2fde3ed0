// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/pre_tokenizer.h"

#include "base/error.h"
#include "model/text/byte_alphabet.h"
#include "model/text/split_behavior.h"
#include "model/text/text_pattern.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace ecokv::model {

class PreTokenizer::Step {
public:
    virtual ~Step() = default;
    virtual void split(const std::string& text, std::vector<std::string>& words) const = 0;
    virtual bool writesAlphabet() const { return false; }
};

namespace {

using Steps = std::vector<std::shared_ptr<const PreTokenizer::Step>>;

/// GPT-2's rule, built into the ByteLevel part.
constexpr const char* kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class PatternSplit : public PreTokenizer::Step {
public:
    PatternSplit(TextPattern pattern, SplitBehavior behavior, bool invert)
        : m_pattern(std::move(pattern)), m_behavior(behavior), m_invert(invert) {}

    void split(const std::string& text, std::vector<std::string>& words) const override {
        for (const TextSpan& span :
             splitSpans(text.size(), m_pattern.findAll(text), m_behavior, m_invert)) {
            words.push_back(text.substr(span.begin, span.end - span.begin));
        }
    }

private:
    TextPattern m_pattern;
    SplitBehavior m_behavior;
    bool m_invert;
};

class ByteLevel : public PreTokenizer::Step {
public:
    ByteLevel(bool addPrefixSpace, std::optional<TextPattern> pattern)
        : m_addPrefixSpace(addPrefixSpace), m_pattern(std::move(pattern)) {}

    void split(const std::string& text, std::vector<std::string>& words) const override {
        const bool prefix = m_addPrefixSpace && !text.starts_with(' ');
        const std::string whole = prefix ? " " + text : text;
        if (!m_pattern) {
            words.push_back(bytesToAlphabet(whole));
            return;
        }
        for (const TextSpan& span :
             splitSpans(whole.size(), m_pattern->findAll(whole), SplitBehavior::Isolated, false)) {
            words.push_back(
                bytesToAlphabet(std::string_view(whole).substr(span.begin, span.end - span.begin)));
        }
    }

    bool writesAlphabet() const override { return true; }

private:
    bool m_addPrefixSpace;
    std::optional<TextPattern> m_pattern;
};

TextPattern patternOf(const JsonObject& step) {
    const JsonObject pattern = step.object("pattern");
    if (const auto regex = pattern.findString("Regex")) {
        return TextPattern::regex(*regex, step.origin());
    }
    if (const auto text = pattern.findString("String")) {
        return TextPattern::literal(*text, step.origin());
    }
    throwBadInput(fmt::format("{} has neither Regex nor String.", step.where("pattern")));
}

void addStep(const Json& node, const std::string& origin, Steps& steps) {
    const JsonObject step(node, origin, "pre_tokenizer");
    const std::string type = step.string("type", "");
    if (type == "Sequence") {
        const Json* parts = step.find("pretokenizers");
        for (const Json& part : parts != nullptr ? *parts : Json::array()) {
            addStep(part, origin, steps);
        }
    } else if (type == "ByteLevel") {
        std::optional<TextPattern> pattern;
        if (step.boolean("use_regex", true)) {
            pattern = TextPattern::regex(kGpt2Pattern, origin);
        }
        steps.push_back(std::make_shared<ByteLevel>(step.boolean("add_prefix_space", true),
                                                    std::move(pattern)));
    } else if (type == "Split") {
        steps.push_back(std::make_shared<PatternSplit>(patternOf(step), parseSplitBehavior(step),
                                                       step.boolean("invert", false)));
    } else if (type == "Digits") {
        const bool each = step.boolean("individual_digits", false);
        steps.push_back(std::make_shared<PatternSplit>(
            TextPattern::regex(R"(\p{N})", origin),
            each ? SplitBehavior::Isolated : SplitBehavior::Contiguous, false));
    } else {
        throwBadInput(
            fmt::format("{}: the pre-tokeniser \"{}\" is not supported yet.", origin, type),
            "Supported are ByteLevel, Split, Digits and sequences of them (byte-level BPE).");
    }
}

} // namespace

PreTokenizer PreTokenizer::fromJson(const Json* node, const std::string& origin) {
    PreTokenizer preTokenizer;
    if (node != nullptr) {
        addStep(*node, origin, preTokenizer.m_steps);
    }
    const auto& steps = preTokenizer.m_steps;
    if (std::ranges::count_if(steps, [](const auto& s) { return s->writesAlphabet(); }) != 1) {
        throwBadInput(fmt::format("{} is not a byte-level tokenizer: its pre_tokenizer must hold "
                                  "exactly one ByteLevel part.",
                                  origin),
                      "SentencePiece-style tokenizers are not supported yet.");
    }
    if (!steps.back()->writesAlphabet()) {
        throwBadInput(fmt::format("{}: a pre_tokenizer that splits after ByteLevel is not "
                                  "supported.",
                                  origin));
    }
    return preTokenizer;
}

std::vector<std::string> PreTokenizer::split(std::string_view text) const {
    std::vector<std::string> words{std::string(text)};
    for (const auto& step : m_steps) {
        std::vector<std::string> finer;
        for (const std::string& word : words) {
            step->split(word, finer);
        }
        std::erase_if(finer, [](const std::string& word) { return word.empty(); });
        words = std::move(finer);
    }
    return words;
}

} // namespace ecokv::model
