#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Small tokenizer.json texts for tests.

#include "model/text/byte_alphabet.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace ecokv::model {

/// Byte-level: the vocabulary is the 256 bytes, `extra` tokens and `merges`.
inline std::string tokenizerJson(const std::vector<std::string>& extra,
                                 const nlohmann::json& merges, bool ignoreMerges = false) {
    nlohmann::json vocabulary;
    for (int byte = 0; byte < 256; ++byte) {
        vocabulary[bytesToAlphabet(std::string(1, static_cast<char>(byte)))] = byte;
    }
    for (std::size_t i = 0; i < extra.size(); ++i) {
        vocabulary[extra[i]] = 256 + i;
    }
    const nlohmann::json json{
        {"added_tokens", nlohmann::json::array()},
        {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
        {"decoder", {{"type", "ByteLevel"}}},
        {"model",
         {{"type", "BPE"},
          {"vocab", vocabulary},
          {"merges", merges},
          {"ignore_merges", ignoreMerges}}}};
    return json.dump();
}

/// As Llama-2's: ids 0-255 are bytes, 256 is "<s>", then the letters "▁Hetyh" and what they merge
/// to: 263 "He", 264 "▁He", 265 "▁Hey", 266 "th", 267 "the", 268 "▁the"; 269 is the added
/// "<image>".
inline nlohmann::json llamaJson() {
    nlohmann::json vocabulary;
    for (int byte = 0; byte < 256; ++byte) {
        vocabulary[fmt::format("<0x{:02X}>", byte)] = byte;
    }
    int id = 256;
    for (const char* token :
         {"<s>", "▁", "H", "e", "t", "y", "h", "He", "▁He", "▁Hey", "th", "the", "▁the"}) {
        vocabulary[token] = id++;
    }
    const auto added = [](int tokenId, const char* content) {
        return nlohmann::json{{"id", tokenId}, {"content", content}, {"special", true}};
    };
    return {{"added_tokens", {added(256, "<s>"), added(269, "<image>")}},
            {"normalizer",
             {{"type", "Sequence"},
              {"normalizers",
               {{{"type", "Prepend"}, {"prepend", "▁"}},
                {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}}}}}},
            {"decoder",
             {{"type", "Sequence"},
              {"decoders",
               {{{"type", "Replace"}, {"pattern", {{"String", "▁"}}}, {"content", " "}},
                {{"type", "ByteFallback"}},
                {{"type", "Fuse"}},
                {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}},
            {"model",
             {{"type", "BPE"},
              {"byte_fallback", true},
              {"vocab", vocabulary},
              {"merges", {"H e", "▁ He", "▁He y", "t h", "th e", "▁ the"}}}}};
}

} // namespace ecokv::model
