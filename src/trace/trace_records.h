#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The content of a trace file as plain values, in the names of the file format (schema 1). Shapes
// are row-major; no HDF5 type appears here.

#include "base/layer_kinds.h"
#include "base/tensor_view.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace ecokv::trace {

inline constexpr int kSchemaVersion = 1;

using Attribute = std::variant<std::string, double, std::int64_t>;
using Attributes = std::map<std::string, Attribute>;

/// The attribute of that name and type, or `missing`.
template <class T>
T attributeOr(const Attributes& attributes, const std::string& name, const T& missing) {
    const auto found = attributes.find(name);
    const T* value = found == attributes.end() ? nullptr : std::get_if<T>(&found->second);
    return value == nullptr ? missing : *value;
}

struct Dimensions {
    std::int64_t layers = 0;  ///< L
    std::int64_t heads = 0;   ///< Hq
    std::int64_t kvHeads = 0; ///< Hkv
    std::int64_t tokens = 0;  ///< T
    std::int64_t headDim = 0; ///< D
    std::int64_t window = 0;  ///< Wmax, recorded query rows
};

/// One rotary embedding. Without frequencies: keys that were not rotated.
struct RopeRecord {
    /// [pair] radians per position, any scaling applied; the first 2 * pairs dims turn.
    std::vector<float> inverseFrequencies;
    std::vector<std::uint8_t> axes; ///< [pair] 0 time, 1 row, 2 column; empty = all the first
    double attentionScaling = 1.0;  ///< factor on rotated dims
};

struct ModelRecord {
    Attributes
        attributes; ///< name, family, path_basename, config_sha256, rope_theta, rope_style, ...
    std::string configJson;
    std::vector<RopeRecord> ropes = {};            ///< the file does not say: empty
    std::vector<std::uint8_t> ropeOfLayer = {};    ///< [layer] index; empty = all use the first
    std::vector<std::int64_t> slidingWindows = {}; ///< [layer] as in LayerKinds
    std::vector<std::uint8_t> linearLayers = {};   ///< [layer] as in LayerKinds

    LayerKinds kinds() const& { return {slidingWindows, linearLayers}; }
    LayerKinds kinds() const&& = delete; // the view would outlive its lists
};

/// How the keys of a trace were rotated.
struct RotationRecord {
    bool interleaved = false;          ///< pairs (2i, 2i + 1), else (i, i + pairs)
    std::vector<RopeRecord> ropes;     ///< at least one
    std::vector<std::uint8_t> ofLayer; ///< [layer] index into ropes; empty = all use the first
    /// [token] time, row, column; empty = true positions.
    std::vector<std::array<std::int32_t, 3>> positions;

    std::size_t indexOf(std::int64_t layer) const {
        return ofLayer.empty() ? 0 : ofLayer.at(static_cast<std::size_t>(layer));
    }
};

struct RunRecord {
    Attributes attributes;     ///< seed, threads, device, backend, prefill_seconds, ...
    std::string argumentsJson; ///< re-runs the run
    std::string log;
};

struct PromptRecord {
    std::string text;
    std::vector<std::int64_t> tokenIds;
    std::vector<std::string> tokenText;
    std::vector<std::uint8_t> tokenKind;        ///< 0 text, 1 special, 2 image
    std::vector<std::int32_t> imageIndex;       ///< -1 = none
    std::vector<std::array<float, 4>> patchBox; ///< x0,y0,x1,y1 source pixels, NaN = none
    std::vector<std::uint8_t> patchRole;        ///< 0 patch, 1 newline, 2 separator, 3 thumbnail
    /// What keys were rotated by: time, row, column; empty = the positions of the tokens.
    std::vector<std::array<std::int32_t, 3>> ropePositions = {};
};

struct ImageRecord {
    std::int64_t width = 0, height = 0;
    std::vector<std::uint8_t> pixels; ///< [height, width, 3] u8
    Attributes attributes; ///< sha256, source_basename, orientation, resized_width, grid_rows, ...
};

/// What the writing thread computes, so that the model's thread does not wait for it.
struct DerivedHeads {
    std::map<std::string, std::vector<float>> heads;   ///< name -> [kvHead] f32
    std::map<std::string, std::vector<float>> spectra; ///< name -> [kvHead, dim] f32: spectrum, ...
};

/// One layer of /tensors, /heads and /scores. Views may be strided and must stay valid for the
/// call.
struct LayerRecord {
    std::int64_t layer = 0;
    TensorView keys;          ///< [kvHead, token, dim] host, any float dtype
    TensorView values;        ///< same, or empty (not recorded)
    TensorView windowQueries; ///< [head, window, dim] host
    /// name -> [kvHead] f32: redundancy, redundancy_cosine, redundancy_euclid, anisotropy,
    /// participation_ratio, mean_key_norm, and with endings _pre, _image, _text, _pre_image, ...
    std::map<std::string, std::vector<float>> heads;
    /// More of /heads; called once on the writing thread. Names that `heads` holds are left as they
    /// are.
    std::function<DerivedHeads()> derive = {};
    std::size_t deriveBytes = 0; ///< memory that `derive` holds until then
    /// name -> [kvHead, token] f32: importance, diversity_cosine, ..., score, key_norm, value_norm
    std::map<std::string, std::vector<float>> scores;
};

/// One policy evaluated on the run, all layers.
struct PolicyRecord {
    std::string id; ///< group name under /policies: "0", "1", ...
    Attributes
        attributes; ///< policy, allocator, budget, window, recent, sink, alpha, ..., kept_bytes
    std::vector<std::uint8_t> kept;          ///< [layer, kvHead, token] 1 = survives
    std::vector<std::int32_t> budgetPerHead; ///< [layer, kvHead]
    std::vector<float> outputError;          ///< [layer, kvHead] or empty
    std::vector<float> retainedMass;         ///< [layer, kvHead] or empty
    /// [layer, kvHead] or empty: output error on the query rows of the full cache's continuation.
    std::vector<float> measuredError;
};

/// A policy fed with the tokens of the full cache's continuation (/decode), beside its own answer
/// in /policies/<id>/decode: kl, top1_agree, forced_logprob.
struct ForcedRecord {
    std::vector<float> kl;               ///< [fullStep] KL(full || kept), nats
    std::vector<std::uint8_t> top1Agree; ///< [fullStep] 1 = the same greedy choice
    std::vector<float> logprob;          ///< [fullStep] of the continuation's token
};

/// Tokens a cache lost while it generated, one entry each: /policies/<id>/decode/evictions.
struct EvictionRecord {
    std::vector<std::int64_t> step; ///< room was made for this token of the answer
    std::vector<std::int32_t> layer, kvHead;
    std::vector<std::int64_t> position; ///< true position of the token that left
};

/// A continuation: of the full cache (/decode), of one policy (/policies/<id>/decode) or the answer
/// to one of several questions (/policies/<id>/questions/<i>, from the full cache /questions/<i>).
struct DecodeRecord {
    std::vector<std::int64_t> tokenIds;
    std::vector<std::string> tokenText;
    std::vector<float> logprob;            ///< [step] natural log of the chosen token's probability
    std::vector<std::int64_t> questionIds; ///< tokens put before the answer, empty = none
    /// [step, layer, kvHead] tokens a head holds with the step's own, or empty.
    std::vector<std::int32_t> keptLength;
    EvictionRecord evictions; ///< empty without eviction while decoding
    Attributes attributes;    ///< answer, question, tokens_per_second, ...
};

} // namespace ecokv::trace
