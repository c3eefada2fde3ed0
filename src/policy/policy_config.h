#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What the user asks of an eviction policy, as a value; `resolve` turns it into exact numbers for a
// prompt length or refuses it with a sentence. Units: tokens per KV head unless said otherwise.

#include "base/layer_kinds.h"
#include "kernels/composite_score.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ecokv::policy {

/// Where the weight r of each head comes from.
enum class RedundancySource : std::uint8_t { Measured, Constant, Table };

/// "measured" (on this prompt), a number for every head, or "table:FILE" (a head table).
struct RedundancyChoice {
    RedundancySource source = RedundancySource::Measured;
    double constant = 0; ///< of Constant, 0..1
    std::string file;    ///< of Table

    bool operator==(const RedundancyChoice&) const = default;
};

enum class Geometry : std::uint8_t { Post, Pre }; ///< keys as cached, or with rotation undone

struct PolicyConfig {
    std::string scorer = "ecokv";      ///< name in the registry
    std::string allocator = "uniform"; ///< name in the registry
    std::int64_t budget = 0; ///< mean tokens kept per KV head, protected ones included; 0 = all
    /// Share evicted instead of a budget: floor(N (1 - ratio)) tokens stay (kvpress).
    std::optional<double> ratio;
    std::optional<int> window;          ///< observation window; unset = the scorer's default
    std::optional<std::int64_t> recent; ///< always kept at the end; unset = the scorer's default
    std::int64_t sink = 0;              ///< always kept at the start
    double alpha = 0.5;                 ///< share of the cosine in the diversity
    double beta = 0.5;                  ///< share of the cosine in the redundancy
    int pool = 5;                       ///< odd pooling kernel, 1 = none
    std::optional<kernels::PoolMode> poolMode; ///< unset = the scorer's default
    std::optional<bool> valueNorm;             ///< intrinsic term; unset = the scorer's default
    Geometry geometry = Geometry::Post;
    RedundancyChoice redundancy; ///< weight of the diversity: `ecokv`, `mixkv`
    std::uint64_t seed = 0;      ///< of `random`
    double lambda = 0.1;         ///< share of the attention in `rkv`
    double floor = 0.2;          ///< share of the budget that `adaptive` leaves every head
    double pyramidBeta = 20;     ///< steepness of `pyramid`, 1 = flat
    std::string headWeights;     ///< file of `static`

    bool operator==(const PolicyConfig&) const = default;
};

/// A run of tokens, for instance the candidates of a policy.
struct TokenRange {
    std::int64_t first = 0, count = 0;

    std::int64_t end() const { return first + count; }
    bool operator==(const TokenRange&) const = default;
};

/// The model a policy is resolved for: what allocators share the budget over and what tables of
/// head weights are checked against. Without layers every head gets the budget itself.
struct ModelShape {
    std::int32_t layers = 0, kvHeads = 0;
    std::string model; ///< name, as head tables carry it
    /// [layer] as in LayerKinds. Only evicted layers take part in the budget.
    std::vector<std::int64_t> slidingWindows = {};
    std::vector<std::uint8_t> linearLayers = {};

    LayerKinds kinds() const& { return {slidingWindows, linearLayers}; }
    LayerKinds kinds() const&& = delete; // the view would outlive its lists
    bool isSliding(std::int32_t layer) const { return kinds().isSliding(layer); }
    bool isLinear(std::int32_t layer) const { return kinds().isLinear(layer); }
    bool canEvict(std::int32_t layer) const { return kinds().isEvicted(layer); }
    /// Layers that can be evicted.
    std::vector<std::int32_t> fullLayers() const;
};

/// A configuration with every default filled in, checked against one prompt.
struct ResolvedPolicy {
    PolicyConfig config;
    ModelShape shape;
    std::int64_t tokens = 0; ///< N, prompt length
    int window = 8;
    std::int64_t recent = 0;
    std::int64_t sink = 0;
    std::int64_t budget = 0; ///< min(budget, N), the mean over heads
    /// [layer, kvHead] tokens kept, protected ones included; sums to layers * kvHeads * budget over
    /// the full layers, all tokens in sliding ones, none in linear ones.
    /// Empty: `budget` for every head, or shared by the allocator when a layer is scored.
    std::vector<std::int64_t> headBudgets;
    /// [layer, kvHead] r from a table; empty: measured or constant.
    std::vector<double> headRedundancy;
    kernels::PoolMode poolMode = kernels::PoolMode::Average;
    bool valueNorm = false;
    bool compresses = false; ///< false: everything is kept; `note` says why
    std::string note;

    std::int64_t candidateBegin() const { return sink; }
    std::int64_t candidateEnd() const { return tokens - recent; }
    TokenRange candidates() const { return {sink, tokens - recent - sink}; }
    /// The head's share of `headBudgets`, or `budget`.
    std::int64_t headBudget(std::int32_t layer, std::int32_t kvHead) const;
    /// The last query rows on which retained mass and output error are judged: the window, or 8
    /// where the policy observes one row or all of them.
    std::int64_t judgedRows() const;
};

/// "ecokv" or "ecokv:alpha=0.7,window=16": the options of one policy. Throws Error{Usage} naming
/// the unknown key, value or policy and listing the known ones.
PolicyConfig parsePolicy(const std::string& text, const PolicyConfig& defaults = {});

/// The shortest text that parsePolicy reads back to this configuration: name and options that
/// differ from the general defaults.
std::string policyText(const PolicyConfig& config);

/// Names of the options that `text` sets itself, as written: "budget", "window".
std::vector<std::string> namedOptions(const std::string& text);
/// The value of that option as parsePolicy reads it, "" where it is unset or unknown.
std::string optionText(const PolicyConfig& config, const std::string& name);

/// "measured", "0.4" or "table:FILE". Throws Error{Usage}.
RedundancyChoice parseRedundancy(const std::string& text);
std::string redundancyText(const RedundancyChoice& choice);

/// Fills defaults in, checks them and shares the budget over the heads. Throws Error{Usage} (budget
/// < sink + recent, even pool, ...) and Error{BadInput} for head tables that do not fit. Field
/// cases F001, F003, F005, F007, F008, F013, F028, F031.
ResolvedPolicy resolve(const PolicyConfig& config, std::int64_t tokens,
                       const ModelShape& shape = {});

} // namespace ecokv::policy
