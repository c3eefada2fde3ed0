// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/steps/replacement.h"

#include "base/error.h"

#include <fmt/format.h>

namespace ecokv::model {

TextPattern readPattern(const JsonObject& step) {
    const JsonObject pattern = step.object("pattern");
    if (const auto regex = pattern.findString("Regex")) {
        return TextPattern::regex(*regex, step.origin());
    }
    if (const auto text = pattern.findString("String")) {
        return TextPattern::literal(*text, step.origin());
    }
    throwBadInput(fmt::format("{} has neither Regex nor String.", step.where("pattern")),
                  "Write it as {\"String\": \" \"} or {\"Regex\": \"...\"}, or download "
                  "tokenizer.json again.");
}

Replacement Replacement::fromJson(const JsonObject& step) {
    return {readPattern(step), step.string("content", "")};
}

std::string Replacement::apply(std::string_view text) const {
    std::string result;
    std::size_t done = 0;
    for (const TextSpan& match : m_pattern.findAll(text)) {
        result.append(text.substr(done, match.begin - done)).append(m_content);
        done = match.end;
    }
    return result.append(text.substr(done));
}

bool Replacement::removesStart(std::string_view text) const {
    const TextSpan first = m_pattern.findFirst(text);
    return m_content.empty() && first.begin == 0 && first.end > 0;
}

} // namespace ecokv::model
