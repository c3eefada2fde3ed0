#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What a run gives back, as values. Bytes are what is stored, tokens are counted per KV head.

#include "base/ids.h"
#include "base/layer_kinds.h"

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
    std::int64_t protectedTokens = 0; ///< sinks + recent, per head; 0 = nothing is evicted
    /// Of the layers that count (LayerKinds): sliding ones are no compression (field case F034).
    std::uint64_t keptBytes = 0;
    std::uint64_t fullBytes = 0;              ///< of the same prompt without eviction
    std::vector<std::uint64_t> layerBytes;    ///< [layer] stored, sliding layers included
    std::vector<std::int64_t> slidingWindows; ///< [layer] as in LayerKinds
    std::vector<std::uint8_t> linearLayers;   ///< [layer] as in LayerKinds

    LayerKinds kinds() const& { return {slidingWindows, linearLayers}; }
    LayerKinds kinds() const&& = delete; // the view would outlive its lists
    std::int64_t layers() const { return static_cast<std::int64_t>(keptTokens.size()); }
};

struct Timings {
    double loadSeconds = 0, prepareSeconds = 0, prefillSeconds = 0, scoringSeconds = 0,
           decodeSeconds = 0, totalSeconds = 0;
    double decodeTokensPerSecond = 0;
};

/// A token that left the cache while an answer was generated.
struct Eviction {
    std::int64_t step = 0; ///< room was made for this token of the answer, from 0
    std::int32_t layer = 0, kvHead = 0;
    std::int64_t position = 0; ///< true position
};

/// What the cache held while an answer was generated. A step counts its own token; that of the last
/// one is counted too, though its key is made only if generation goes on (field case F030).
struct CacheHistory {
    std::int64_t layers = 0, kvHeads = 0;
    std::vector<std::int32_t> keptLength; ///< [step, layer, kvHead] kept + question + generated
    std::vector<std::uint64_t> bytes;     ///< [step] allocated, before the step's token is stored
    std::vector<Eviction> evictions;

    std::int64_t steps() const { return static_cast<std::int64_t>(bytes.size()); }
    std::uint64_t peakBytes() const; ///< of all layers
};

struct Answer {
    std::string text;
    std::vector<TokenId> tokenIds;
    std::vector<std::string> tokenText;
    std::vector<float> logprob; ///< natural log, of each chosen token
    bool stoppedAtEnd = false;  ///< an end token, not the limit
    CacheHistory cache = {};
};

/// One of several questions put to the same compressed context.
struct QuestionResult {
    std::string question;
    std::vector<TokenId> questionIds; ///< with what the template puts behind it
    Answer answer;
    Answer fullAnswer; ///< empty unless compareFull
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
    /// |o_full - o_kept| / |o_full|, mean over the heads that can be evicted: on the observation
    /// window, as replay predicts it, and on the query rows of the continuation.
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
    std::vector<ComparedPolicy> compared;  ///< in the order asked for; empty unless compare
    std::vector<QuestionResult> questions; ///< with asks; `answer` is empty then
    /// What happens to the cache while it answers: "prefill-only", "every 16 tokens to 64".
    std::string decodeEviction;
    std::filesystem::path savedCache; ///< empty if none was written
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
