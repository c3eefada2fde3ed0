#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What a run gives back, as values. Bytes are what is stored, tokens are counted per KV head.

#include "base/ids.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ecokv::session {

/// What the cache held after the prefill and its eviction. Field cases F015, F038.
struct Ledger {
    std::vector<std::vector<std::int64_t>> keptTokens; ///< [layer][kvHead]
    std::int64_t promptTokens = 0;
    std::int64_t protectedTokens = 0; ///< sinks + recent, per head
    std::uint64_t keptBytes = 0;
    std::uint64_t fullBytes = 0; ///< of the same prompt without eviction
};

struct Timings {
    double loadSeconds = 0, prepareSeconds = 0, prefillSeconds = 0, scoringSeconds = 0,
           decodeSeconds = 0, totalSeconds = 0;
    double decodeTokensPerSecond = 0;
};

struct Answer {
    std::string text;
    std::vector<TokenId> tokenIds;
    std::vector<std::string> tokenText;
    std::vector<float> logprob; ///< natural log, of each chosen token
    bool stoppedAtEnd = false;  ///< an end token, not the limit
};

struct RunResult {
    Answer answer;     ///< from the evicted cache
    Answer fullAnswer; ///< from the full cache, empty unless compareFull
    bool hasFullAnswer = false;
    std::int64_t promptTokens = 0, imageTokens = 0;
    std::string policy;
    std::int64_t budget = 0;
    bool compressed = false;
    Ledger ledger;
    Timings timings;
    std::filesystem::path trace;    ///< empty if none was written
    std::vector<std::string> notes; ///< sentences for the user
    std::string device, dtype, backend;
    int threads = 0;
};

} // namespace ecokv::session
