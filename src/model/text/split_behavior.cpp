// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/split_behavior.h"

#include "base/error.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace ecokv::model {

namespace {

struct Part {
    TextSpan span;
    bool matched = false;
};

std::vector<Part> tile(std::size_t size, const std::vector<TextSpan>& matches, bool invert) {
    std::vector<Part> parts;
    std::size_t end = 0;
    for (const TextSpan& match : matches) {
        if (end != match.begin) {
            parts.push_back({{end, match.begin}, invert});
        }
        parts.push_back({match, !invert});
        end = match.end;
    }
    if (end != size) {
        parts.push_back({{end, size}, invert});
    }
    return parts;
}

/// Glues each first match of a row to the part before it, in the order given.
std::vector<TextSpan> mergeWithPrevious(const std::vector<Part>& parts) {
    std::vector<TextSpan> spans;
    bool previous = false;
    for (const Part& part : parts) {
        if (part.matched && !previous && !spans.empty()) {
            spans.back() = {std::min(spans.back().begin, part.span.begin),
                            std::max(spans.back().end, part.span.end)};
        } else {
            spans.push_back(part.span);
        }
        previous = part.matched;
    }
    return spans;
}

std::vector<TextSpan> mergeContiguous(const std::vector<Part>& parts) {
    std::vector<TextSpan> spans;
    bool previous = false;
    for (const Part& part : parts) {
        if (part.matched == previous && !spans.empty()) {
            spans.back().end = part.span.end;
        } else {
            spans.push_back(part.span);
        }
        previous = part.matched;
    }
    return spans;
}

std::vector<TextSpan> keepAll(const std::vector<Part>& parts, bool dropMatched) {
    std::vector<TextSpan> spans;
    for (const Part& part : parts) {
        if (!(dropMatched && part.matched)) {
            spans.push_back(part.span);
        }
    }
    return spans;
}

std::vector<TextSpan> arrange(std::vector<Part> parts, SplitBehavior behavior) {
    switch (behavior) {
    case SplitBehavior::Removed:
        return keepAll(parts, true);
    case SplitBehavior::Isolated:
        return keepAll(parts, false);
    case SplitBehavior::MergedWithPrevious:
        return mergeWithPrevious(parts);
    case SplitBehavior::MergedWithNext: {
        std::ranges::reverse(parts);
        auto spans = mergeWithPrevious(parts);
        std::ranges::reverse(spans);
        return spans;
    }
    case SplitBehavior::Contiguous:
        return mergeContiguous(parts);
    }
    return {};
}

} // namespace

SplitBehavior parseSplitBehavior(const JsonObject& step) {
    constexpr std::array kNames{
        std::pair{"Removed", SplitBehavior::Removed},
        std::pair{"Isolated", SplitBehavior::Isolated},
        std::pair{"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
        std::pair{"MergedWithNext", SplitBehavior::MergedWithNext},
        std::pair{"Contiguous", SplitBehavior::Contiguous},
    };
    const std::string name = step.string("behavior", "");
    for (const auto& [known, behavior] : kNames) {
        if (name == known) {
            return behavior;
        }
    }
    throwBadInput(
        fmt::format("{} = \"{}\" is unknown.", step.where("behavior"), name),
        "Known are Removed, Isolated, MergedWithPrevious, MergedWithNext and Contiguous.");
}

std::vector<TextSpan> splitSpans(std::size_t size, const std::vector<TextSpan>& matches,
                                 SplitBehavior behavior, bool invert) {
    auto spans = arrange(tile(size, matches, invert), behavior);
    std::erase_if(spans, [](const TextSpan& span) { return span.begin == span.end; });
    return spans;
}

void appendParts(const Word& word, const std::vector<TextSpan>& spans, std::vector<Word>& parts) {
    for (const TextSpan& span : spans) {
        parts.push_back({word.text.substr(span.begin, span.end - span.begin),
                         word.startsPrompt && span.begin == 0});
    }
}

} // namespace ecokv::model
