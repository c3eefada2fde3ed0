// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/steps/metaspace.h"

#include "base/error.h"
#include "model/text/split_behavior.h"
#include "model/text/utf8.h"

#include <array>

#include <fmt/format.h>

namespace ecokv::model {

namespace {

Metaspace::Prepend readPrepend(const JsonObject& step) {
    constexpr std::array kNames{
        std::pair{"always", Metaspace::Prepend::Always},
        std::pair{"first", Metaspace::Prepend::First},
        std::pair{"never", Metaspace::Prepend::Never},
    };
    const bool oldSwitch = step.boolean("add_prefix_space", true); // older files have only this
    const std::string name = step.string("prepend_scheme", oldSwitch ? "always" : "never");
    if (!oldSwitch && name != "never") {
        throwBadInput(fmt::format("{} is false, but {} = \"{}\".", step.where("add_prefix_space"),
                                  step.where("prepend_scheme"), name),
                      "Keep only prepend_scheme.");
    }
    for (const auto& [known, scheme] : kNames) {
        if (name == known) {
            return scheme;
        }
    }
    throwBadInput(fmt::format("{} = \"{}\" is unknown.", step.where("prepend_scheme"), name),
                  "Known are always, first and never.");
}

std::string replaceAll(const std::string& text, std::string_view from, std::string_view to) {
    std::string result;
    std::size_t done = 0;
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, done)) {
        result.append(text, done, at - done).append(to);
        done = at + from.size();
    }
    return result.append(text, done);
}

} // namespace

Metaspace Metaspace::fromJson(const JsonObject& step) {
    Metaspace metaspace;
    metaspace.sign = step.string("replacement", metaspace.sign);
    metaspace.prepend = readPrepend(step);
    metaspace.splits = step.boolean("split", true);
    if (metaspace.sign.empty() || utf8At(metaspace.sign, 0).length != metaspace.sign.size()) {
        throwBadInput(fmt::format("{} = \"{}\" is not one character.", step.where("replacement"),
                                  metaspace.sign),
                      "Usual is \"\u2581\"; download tokenizer.json again.");
    }
    return metaspace;
}

void MetaspaceSplit::split(Word word, std::vector<Word>& parts) const {
    const std::string& sign = m_metaspace.sign;
    word.text = replaceAll(word.text, " ", sign);
    const bool wanted = m_metaspace.prepend == Metaspace::Prepend::Always ||
                        (m_metaspace.prepend == Metaspace::Prepend::First && word.startsPrompt);
    if (wanted && !word.text.starts_with(sign)) {
        word.text = sign + word.text;
    }
    if (!m_metaspace.splits) {
        parts.push_back(std::move(word));
        return;
    }
    std::vector<TextSpan> signs;
    for (std::size_t at = word.text.find(sign); at != std::string::npos;
         at = word.text.find(sign, at + sign.size())) {
        signs.push_back({at, at + sign.size()});
    }
    appendParts(word, splitSpans(word.text.size(), signs, SplitBehavior::MergedWithNext, false),
                parts);
}

void MetaspaceDecoder::apply(std::vector<std::string>& tokens) const {
    const bool dropsFirst = m_metaspace.prepend != Metaspace::Prepend::Never;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        tokens[i] = replaceAll(tokens[i], m_metaspace.sign, i == 0 && dropsFirst ? "" : " ");
    }
}

} // namespace ecokv::model
