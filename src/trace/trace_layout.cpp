// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/trace_layout.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace ecokv::trace {

namespace {

constexpr std::uint64_t kLargestChunk = 1ULL << 20;

using Docs = std::map<std::string, DatasetDoc>;

Docs tensorDocs() {
    return {
        {"scales/layer", {"Decoder layer, from 0", "", {"layer"}}},
        {"scales/head", {"Query head within its layer, from 0", "", {"head"}}},
        {"scales/kv_head", {"KV head within its layer, from 0", "", {"kv_head"}}},
        {"scales/token", {"Position in the prompt, from 0", "", {"token"}}},
        {"scales/dim", {"Component of a key, value or query", "", {"dim"}}},
        {"tensors/keys",
         {"Keys as cached, after rotary embedding", "", {"layer", "kv_head", "token", "dim"}}},
        {"tensors/values", {"Values as cached", "", {"layer", "kv_head", "token", "dim"}}},
        {"tensors/window_queries",
         {"Queries of the last prompt tokens, after rotary embedding",
          "",
          {"layer", "head", "window", "dim"}}},
        {"tensors/window_positions",
         {"Position in the prompt of each recorded query row", "", {"window"}}},
    };
}

Docs scoreDocs() {
    const std::vector<std::string> head{"layer", "kv_head"};
    const std::vector<std::string> token{"layer", "kv_head", "token"};
    return {
        {"heads/redundancy",
         {"Redundancy r = beta r_cos + (1 - beta) r_euc, or as given; 0 = keys all differ, 1 = all "
          "alike. mixkv weighs by redundancy_cosine unless r was given",
          "", head}},
        {"heads/redundancy_cosine", {"Mean cosine similarity of two different keys", "", head}},
        {"heads/redundancy_euclid",
         {"1 - mean squared distance of two keys / (2 mean squared norm)", "", head}},
        {"heads/anisotropy", {"Length of the mean unit key", "", head}},
        {"heads/participation_ratio", {"Effective dimensions of the key spectrum", "", head}},
        {"heads/mean_key_norm", {"Mean length of a key", "", head}},
        {"heads/spectrum",
         {"Eigenvalues of the keys' covariance, largest first",
          "",
          {"layer", "kv_head", "component"}}},
        {"scores/importance", {"Attention of the observation window, pooled", "", token}},
        {"scores/diversity_cosine", {"Angle from the mean key, scaled to 0..1", "", token}},
        {"scores/diversity_euclid", {"Distance from the mean key, scaled to 0..1", "", token}},
        {"scores/diversity", {"Composite diversity, alpha cosine + (1 - alpha) Euclid", "", token}},
        {"scores/score", {"What the policy ranks by; NaN = always kept", "", token}},
        {"scores/key_norm", {"Length of the key", "", token}},
        {"scores/value_norm", {"Length of the value", "", token}},
        {"policies/kept", {"1 = the token survives the eviction", "", token}},
        {"policies/budget_per_head", {"Tokens kept", "token", head}},
        {"policies/output_error",
         {"Attention output error of the window rows, relative to the full cache", "", head}},
        {"policies/retained_mass", {"Share of the window's attention that is kept", "", head}},
        {"policies/measured_error",
         {"Attention output error on the query rows of the full cache's continuation, relative to "
          "the full cache",
          "", head}},
    };
}

Docs textDocs() {
    const std::vector<std::string> token{"token"};
    return {
        {"model/config_json", {"config.json of the model, verbatim", "", {}}},
        {"model/rope_inverse_frequencies",
         {"Angle of each rotated pair of dimensions per position", "radian", {"pair"}}},
        {"model/sliding_windows",
         {"Tokens that a sliding layer sees, 0 = a full layer; sliding layers are not evicted",
          "token",
          {"layer"}}},
        {"model/rope_axes",
         {"Which of prompt/rope_positions each rotated pair turns by: 0 time, 1 row, 2 column",
          "",
          {"pair"}}},
        {"model/rope_of_layer",
         {"Rotary embedding of each layer: 0 = rope_inverse_frequencies, 1 = "
          "rope_inverse_frequencies_1, ...",
          "",
          {"layer"}}},
        {"model/linear_layers",
         {"1 = linear attention: the layer has no KV cache and nothing of it is recorded",
          "",
          {"layer"}}},
        {"run/arguments_json", {"Arguments that make this run again", "", {}}},
        {"run/log", {"Messages of the run", "", {}}},
        {"prompt/text", {"Prompt after the chat template, images as markers", "", {}}},
        {"prompt/token_ids", {"Entry of the vocabulary", "", token}},
        {"prompt/token_text", {"Token decoded alone; NUL bytes shown as U+2400", "", token}},
        {"prompt/token_kind", {"Where the token comes from", "", token}},
        {"prompt/image_index", {"Image of an image token, -1 = none", "", token}},
        {"prompt/patch_box",
         {"Source rectangle x0, y0, x1, y1 of an image token, NaN = none",
          "pixel",
          {"token", "corner"}}},
        {"prompt/patch_role", {"What an image token stands for", "", token}},
        {"prompt/rope_positions",
         {"What keys were rotated by, where it is not the position in the prompt: time, row, "
          "column",
          "",
          {"token", "axis"}}},
        {"images", {"Picture as decoded, red green blue", "", {"y", "x", "channel"}}},
        {"decode/step", {"Token of the answer, from 0", "", {"step"}}},
        {"decode/token_ids", {"Entry of the vocabulary", "", {"step"}}},
        {"decode/token_text", {"Token decoded alone", "", {"step"}}},
        {"decode/logprob", {"Log probability of the chosen token", "nat", {"step"}}},
    };
}

Docs decodeDocs() {
    const std::vector<std::string> eviction{"eviction"};
    return {
        {"decode/question_ids",
         {"Tokens of the question and what the template puts behind it", "", {"question_token"}}},
        {"decode/kept_length",
         {"Tokens the head holds once the step's own is counted: kept + question + generated",
          "token",
          {"step", "layer", "kv_head"}}},
        {"decode/evictions/step",
         {"Token of the answer that room was made for, from 0", "", eviction}},
        {"decode/evictions/layer", {"Decoder layer, from 0", "", eviction}},
        {"decode/evictions/kv_head", {"KV head within its layer, from 0", "", eviction}},
        {"decode/evictions/position",
         {"True position of the token that left, answer tokens counted on", "", eviction}},
    };
}

/// Of a policy that is fed with the tokens of /decode.
Docs forcedDocs() {
    const std::vector<std::string> step{"full_step"};
    return {
        {"forced/kl", {"KL divergence of the next token, full cache to this one", "nat", step}},
        {"forced/top1_agree", {"1 = the most likely next token is the full cache's", "", step}},
        {"forced/forced_logprob", {"Log probability of the token of /decode", "nat", step}},
    };
}

Docs allDocs() {
    Docs docs = tensorDocs();
    docs.merge(scoreDocs());
    docs.merge(textDocs());
    docs.merge(decodeDocs());
    docs.merge(forcedDocs());
    return docs;
}

/// "heads/anisotropy_pre_image" is "heads/anisotropy" of other keys: takes the endings off and says
/// which keys they are.
std::string withoutEndings(std::string path, std::string& keys) {
    const std::vector<std::pair<std::string, std::string>> endings{
        {"_image", ", image tokens alone"},
        {"_text", ", tokens of no image alone"},
        {"_pre", ", rotary embedding undone"}};
    for (const auto& [ending, meaning] : endings) {
        if (path.starts_with("heads/") && path.ends_with(ending)) {
            path.resize(path.size() - ending.size());
            keys = meaning + keys;
        }
    }
    return path;
}

} // namespace

DatasetDoc documentationOf(const std::string& path) {
    static const Docs docs = allDocs();
    std::string keys;
    const std::string base = docs.contains(path) ? path : withoutEndings(path, keys);
    if (const auto found = docs.find(base); found != docs.end()) {
        DatasetDoc doc = found->second;
        doc.description += keys;
        return doc;
    }
    const std::string name = path.substr(path.rfind('/') + 1);
    if (path.starts_with("heads/")) {
        return {"Head metric " + name, "", {"layer", "kv_head"}};
    }
    if (path.starts_with("scores/")) {
        return {"Token score " + name, "", {"layer", "kv_head", "token"}};
    }
    throwInternal(fmt::format("The trace schema has no dataset {}.", path));
}

bool isScale(const std::string& path) {
    return path.starts_with("scales/") || path == "tensors/window_positions" ||
           path == "decode/step";
}

std::int64_t tokensPerChunk(std::int64_t tokens, std::uint64_t rowBytes) {
    const auto most =
        static_cast<std::int64_t>(std::max<std::uint64_t>(1, kLargestChunk / rowBytes));
    const std::int64_t chunks = std::max<std::int64_t>(1, (tokens + most - 1) / most);
    return std::max<std::int64_t>(1, (tokens + chunks - 1) / chunks);
}

void checkDimensions(const WriterOptions& options) {
    const Dimensions& d = options.dimensions;
    const bool tensors = !options.recordTensors || (d.heads > 0 && d.headDim > 0 && d.window > 0);
    const bool positive = d.layers > 0 && d.kvHeads > 0 && d.tokens > 0 && tensors;
    if (!positive || d.window > d.tokens || d.heads % d.kvHeads != 0) {
        throwUsage(fmt::format("A trace cannot have {} layers, {} heads, {} KV heads, {} tokens, "
                               "{} dimensions and {} window rows.",
                               d.layers, d.heads, d.kvHeads, d.tokens, d.headDim, d.window));
    }
    const auto rows = static_cast<std::int64_t>(options.windowPositions.size());
    if (rows != 0 && rows != d.window) {
        throwUsage(fmt::format("A trace of {} window rows was given {} window positions.", d.window,
                               rows));
    }
}

} // namespace ecokv::trace
