#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What a run gives back, as values. Bytes are what is stored, tokens are counted per KV head.

#include "base/ids.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ecokv::session {

/// What the cache held after the prefill and its eviction. Field cases F015, F038.
struct Ledger {
    std::vector<std::vector<std::int64_t>> keptTokens; ///< [layer][kvHead]
    std::int64_t promptTokens = 0;
    std::int64_t protectedTokens = 0; ///< sinks + recent, per head
    /// Of the layers that can be evicted: sliding ones are no compression (field case F034).
    std::uint64_t keptBytes = 0;
    std::uint64_t fullBytes = 0;           ///< of the same prompt without eviction
    std::vector<std::uint64_t> layerBytes; ///< [layer] stored, sliding layers included
    /// [layer] tokens that a sliding layer sees, 0 = a full layer; empty = every layer is full.
    std::vector<std::int64_t> slidingWindows;
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

/// Where a free-running answer leaves the full cache's.
struct Divergence {
    std::int64_t step = 0;  ///< token of the answer, from 0
    std::string full, kept; ///< the two tokens as text; "" = the answer ended, or no text
};

/// One policy beside the full cache: teacher-forced on its greedy continuation and free-running.
/// Means are over the steps that read the evicted cache, which are all but the first; empty where
/// the continuation has a single token.
struct ComparedPolicy {
    std::string policy;    ///< with its options, without budget and allocator
    std::string allocator; ///< "" for a policy that keeps everything by definition
    std::int64_t budget = 0;
    std::string refused; ///< why it could not run; then nothing below is set
    std::string note;    ///< what was set otherwise than asked, "not compressed: ..."
    bool compressed = false;
    std::string traceId; ///< group under /policies, "" = none
    Ledger ledger;
    std::vector<float> kl;                 ///< [step] nats
    std::vector<std::uint8_t> top1Agree;   ///< [step]
    std::vector<float> forcedLogprob;      ///< [step] of the continuation's tokens
    std::optional<double> meanKl;          ///< KL(full || kept), nats
    std::optional<double> top1Agreement;   ///< 0..1
    std::optional<double> perplexityRatio; ///< kept / full
    /// |o_full - o_kept| / |o_full|, mean over layers and heads: on the observation window, as
    /// replay predicts it, and on the query rows of the continuation.
    std::optional<double> predictedError, measuredError;
    std::vector<float> measuredErrors;    ///< [layer, kvHead]; empty: nothing was decoded
    Answer answer;                        ///< free-running, greedy
    std::optional<Divergence> divergence; ///< empty: the same answer
    double seconds = 0;                   ///< decoding the answer
    double tokensPerSecond = 0;           ///< 0 = nothing was decoded
};

struct RunResult {
    Answer answer;     ///< from the evicted cache
    Answer fullAnswer; ///< from the full cache, empty unless compareFull
    bool hasFullAnswer = false;
    std::vector<ComparedPolicy> compared; ///< in the order asked for; empty unless compare
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
