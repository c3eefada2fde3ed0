#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What the user asks of an eviction policy, as a value; `resolve` turns it into exact numbers for a
// prompt length or refuses it with a sentence. Units: tokens per KV head unless said otherwise.

#include "kernels/composite_score.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ecokv::policy {

enum class Geometry : std::uint8_t { Post, Pre }; ///< keys as cached, or with rotation undone

struct PolicyConfig {
    std::string scorer = "ecokv";      ///< name in the registry
    std::string allocator = "uniform"; ///< name in the registry
    std::int64_t budget = 0;   ///< mean tokens kept per KV head, protected ones included; 0 = all
    std::optional<int> window; ///< observation window; unset = the scorer's default
    std::optional<std::int64_t> recent; ///< always kept at the end; unset = the scorer's default
    std::int64_t sink = 0;              ///< always kept at the start
    double alpha = 0.5;                 ///< share of the cosine in the diversity
    double beta = 0.5;                  ///< share of the cosine in the redundancy
    int pool = 5;                       ///< odd pooling kernel, 1 = none
    std::optional<kernels::PoolMode> poolMode; ///< unset = the scorer's default
    std::optional<bool> valueNorm;             ///< intrinsic term; unset = the scorer's default
    Geometry geometry = Geometry::Post;
    std::uint64_t seed = 0; ///< of `random`

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
};

/// A configuration with every default filled in, checked against one prompt.
struct ResolvedPolicy {
    PolicyConfig config;
    ModelShape shape;
    std::int64_t tokens = 0; ///< N, prompt length
    int window = 8;
    std::int64_t recent = 0;
    std::int64_t sink = 0;
    std::int64_t budget = 0; ///< min(budget, N)
    kernels::PoolMode poolMode = kernels::PoolMode::Average;
    bool valueNorm = false;
    bool compresses = false; ///< false: everything is kept; `note` says why
    std::string note;

    std::int64_t candidateBegin() const { return sink; }
    std::int64_t candidateEnd() const { return tokens - recent; }
    TokenRange candidates() const { return {sink, tokens - recent - sink}; }
};

/// "ecokv" or "ecokv:alpha=0.7,window=16": the options of one policy. Throws Error{Usage} naming
/// the unknown key, value or policy and listing the known ones.
PolicyConfig parsePolicy(const std::string& text, const PolicyConfig& defaults = {});

/// The shortest text that parsePolicy reads back to this configuration: name and options that
/// differ from the general defaults.
std::string policyText(const PolicyConfig& config);

/// Fills defaults in and checks them. Throws Error{Usage} (budget < sink + recent, even pool, ...).
/// Field cases F001, F003, F013, F031.
ResolvedPolicy resolve(const PolicyConfig& config, std::int64_t tokens,
                       const ModelShape& shape = {});

} // namespace ecokv::policy
