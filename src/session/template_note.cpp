// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/template_note.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace ecokv::session {

namespace {

constexpr std::size_t kMostNamed = 8;

/// The token on one line: "\n" as it is written in C.
std::string quoted(const std::string& text) {
    std::string line = "\"";
    for (const char c : text) {
        if (c == '\n') {
            line += "\\n";
        } else if (static_cast<unsigned char>(c) < 0x20) {
            line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
            line += c;
        }
    }
    return line + "\"";
}

} // namespace

std::string evictedTemplateNote(const model::Prompt& prompt, std::span<const std::uint8_t> kept) {
    const std::size_t tokens = prompt.tokenIds.size();
    const std::size_t heads = tokens == 0 ? 0 : kept.size() / tokens;
    std::vector<std::string> lost;
    std::size_t count = 0;
    for (std::size_t token = 0; token < tokens; ++token) {
        if (prompt.fromTemplate.size() != tokens || prompt.fromTemplate[token] == 0) {
            continue;
        }
        std::size_t losers = 0;
        for (std::size_t head = 0; head < heads; ++head) {
            losers += kept[head * tokens + token] == 0 ? 1 : 0;
        }
        if (losers == 0 || 2 * losers < heads) {
            continue;
        }
        if (++count <= kMostNamed) {
            lost.push_back(fmt::format("{} at {} ({} of {} heads)", quoted(prompt.tokenText[token]),
                                       token, losers, heads));
        }
    }
    if (count == 0) {
        return {};
    }
    return fmt::format("Tokens of the chat template were evicted: {}{}. If answers make no sense, "
                       "raise the budget, or keep the first tokens with --sink.",
                       fmt::join(lost, ", "),
                       count > kMostNamed ? fmt::format(" and {} more", count - kMostNamed) : "");
}

} // namespace ecokv::session
