// SPDX-License-Identifier: GPL-3.0-or-later
// Runs a model for the parity tests in Python. One JSON object on stdin:
//   model         folder
//   dtype         "auto" | "f32" | "bf16"           (default f32)
//   threads       of LibTorch                       (default 0 = all cores)
//   text, images  a prompt for Model::prepare, or
//   token_ids, image_token, pixels   ids with image tokens expanded, the id that stands for them,
//                 and per picture one file of raw float32 [3, side, side], or {"file", "shape",
//                 "grid"} as the tower of the family takes them
//   rope_positions   [token] (time, row, column) of the ids (default: their numbers)
//   chunk         of the prefill, in tokens         (default 0 = the whole prompt)
//   forced        ids fed to decode one by one, or
//   steps         number of tokens to choose greedily   (default 0)
//   keep          [layer][kvHead][row]: cache rows that stay after each layer's prefill
//   then          what follows the prefill, in this order: {"extend": [id, ...]} or
//                 {"keep": [layer][kvHead][row]}, rows of the cache as it is by then
//   observe       watch the decoding steps   (default false)
//   repeats       prefills on an emptied cache, the last one is timed   (default 1)
//   out           folder for logits.npy [1 + extension + step, vocabulary], keys.npy [layer,
//                 kvHead, token, dim], queries.npy [layer, head, row, dim] (window of 8) and
//                 step_queries.npy, step_keys.npy [step, layer, head or kvHead, dim]
// One JSON object on stdout: token_ids, chosen, tokens_seen, compute_dtype, seconds.

#include "base/error.h"
#include "base/float_convert.h"
#include "model/model.h"
#include "npy_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iostream>

namespace {

using namespace ecokv;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kWindow = 8;

double secondsSince(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

float element(const TensorView& row, std::int64_t i) {
    switch (row.dtype) {
    case DType::F32:
        return row.as<float>()[i];
    case DType::BF16:
        return bf16ToFloat(row.as<std::uint16_t>()[i]);
    default:
        throwInternal("The probe reads f32 and bf16 only.");
    }
}

/// Appends a view [a, b, dim] row by row.
void appendValues(const TensorView& view, std::vector<float>& to) {
    for (std::int64_t a = 0; a < view.shape[0]; ++a) {
        for (std::int64_t b = 0; b < view.shape[1]; ++b) {
            const TensorView row = view[a][b];
            for (std::int64_t i = 0; i < row.shape[0]; ++i) {
                to.push_back(element(row, i));
            }
        }
    }
}

/// Collects what each layer delivers and evicts as told.
class Recorder final : public model::LayerObserver {
public:
    Recorder(cache::KvCache& cache, const Json& keep) : m_cache(cache), m_keep(keep) {}

    std::int64_t windowRows(LayerId) const override { return kWindow; }

    void layerPrefilled(const model::LayerTensors& tensors) override {
        ++m_layers;
        appendValues(tensors.keys, keys);
        appendValues(tensors.windowQueries, queries);
        keyShape = {m_layers, tensors.keys.shape[0], tensors.keys.shape[1], tensors.keys.shape[2]};
        queryShape = {m_layers, tensors.windowQueries.shape[0], tensors.windowQueries.shape[1],
                      tensors.windowQueries.shape[2]};
        if (!m_keep.is_null()) {
            m_cache.apply({tensors.layer, m_keep.at(tensors.layer.index()), true});
        }
    }

    std::vector<float> keys, queries;
    std::vector<std::int64_t> keyShape, queryShape;

private:
    cache::KvCache& m_cache;
    const Json& m_keep;
    std::int64_t m_layers = 0;
};

/// Collects the one query and key row that each layer delivers at a decoding step.
class StepRecorder final : public model::LayerObserver {
public:
    std::int64_t windowRows(LayerId) const override { return kWindow; }

    void layerPrefilled(const model::LayerTensors& tensors) override {
        appendValues(tensors.windowQueries, queries);
        appendValues(tensors.keys, keys);
    }

    std::vector<float> queries, keys;
};

void keepRows(cache::KvCache& cache, const Json& keep) {
    for (std::int32_t layer = 0; layer < cache.shape().layers; ++layer) {
        const LayerId id{layer};
        cache.apply({id, keep.at(id.index()), true});
    }
}

std::vector<float> readFloats(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    std::vector<float> values(static_cast<std::size_t>(file.tellg()) / sizeof(float));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(float)));
    return values;
}

model::PictureInput pictureInput(const Json& pixels) {
    model::PictureInput input;
    if (pixels.is_object()) {
        input.values = readFloats(pixels.at("file"));
        pixels.at("shape").get_to(input.shape);
        input.grid = pixels.value("grid", input.grid);
        return input;
    }
    input.values = readFloats(pixels);
    const auto side = static_cast<std::int64_t>(
        std::lround(std::sqrt(static_cast<double>(input.values.size()) / 3)));
    input.shape = {3, side, side};
    return input;
}

/// A prompt from ids: runs of image tokens are dealt to the pictures in equal shares.
model::Prompt promptFromIds(const Json& request) {
    model::Prompt prompt;
    prompt.ropePositions = request.value("rope_positions", std::vector<cache::RopePosition>());
    prompt.tokenIds = request.at("token_ids").get<std::vector<TokenId>>();
    const TokenId imageToken = request.value("image_token", -1);
    for (const Json& pixels : request.value("pixels", Json::array())) {
        prompt.pictures.emplace_back().path = pixels.dump();
        prompt.pictureInputs.push_back(pictureInput(pixels));
    }
    const auto images = std::ranges::count(prompt.tokenIds, imageToken);
    const auto share =
        prompt.pictures.empty() ? 0 : images / static_cast<std::ptrdiff_t>(prompt.pictures.size());
    std::ptrdiff_t seen = 0;
    for (const TokenId id : prompt.tokenIds) {
        const bool isImage = id == imageToken;
        prompt.tokenKind.push_back(isImage ? model::TokenKind::Image : model::TokenKind::Text);
        prompt.imageIndex.push_back(isImage ? static_cast<std::int32_t>(seen++ / share) : -1);
    }
    return prompt;
}

model::Prompt makePrompt(const Json& request, const model::Model& model) {
    if (request.contains("token_ids")) {
        return promptFromIds(request);
    }
    return model.prepare({.text = request.at("text"),
                          .images = request.value("images", std::vector<std::string>()),
                          .applyTemplate = request.value("apply_template", true)});
}

model::ComputeDType dtypeNamed(const std::string& name) {
    return name == "auto"   ? model::ComputeDType::Auto
           : name == "bf16" ? model::ComputeDType::BF16
                            : model::ComputeDType::F32;
}

Json runProbe(const Json& request) {
    const auto start = Clock::now();
    model::LoadOptions options;
    options.dtype = dtypeNamed(request.value("dtype", "f32"));
    options.threads = request.value("threads", 0);
    const auto model = model::Model::open(request.at("model").get<std::string>(), options);
    const double loadSeconds = secondsSince(start);

    const model::Prompt prompt = makePrompt(request, *model);
    cache::KvCache cache(model->cacheShape());
    const Json keep = request.value("keep", Json());
    for (int i = 1; i < request.value("repeats", 1); ++i) {
        model->prefill(prompt, cache, nullptr, {}, {});
        cache.clear();
    }
    Recorder recorder(cache, keep);
    const auto prefillStart = Clock::now();
    std::vector<float> logits =
        model->prefill(prompt, cache, &recorder, {}, {}, {request.value("chunk", 0)});
    const double prefillSeconds = secondsSince(prefillStart);

    std::vector<float> all = logits;
    for (const Json& action : request.value("then", Json::array())) {
        if (action.contains("keep")) {
            keepRows(cache, action.at("keep"));
            continue;
        }
        const auto ids = action.at("extend").get<std::vector<TokenId>>();
        logits = model->extend(ids, cache, nullptr, {}, {});
        all.insert(all.end(), logits.begin(), logits.end());
    }

    const auto forced = request.value("forced", std::vector<TokenId>());
    const std::size_t steps = forced.empty() ? request.value("steps", 0U) : forced.size();
    StepRecorder stepRecorder;
    const bool observed = request.value("observe", false);
    std::vector<TokenId> chosen;
    std::vector<std::int64_t> seen{cache.tokensSeen()};
    model::Sampler sampler({});
    const auto decodeStart = Clock::now();
    for (std::size_t step = 0; step < steps; ++step) {
        chosen.push_back(forced.empty() ? sampler.next(logits) : forced[step]);
        logits = model->decode(chosen.back(), cache, {}, observed ? &stepRecorder : nullptr);
        all.insert(all.end(), logits.begin(), logits.end());
        seen.push_back(cache.tokensSeen());
    }
    const double decodeSeconds = secondsSince(decodeStart);

    const std::filesystem::path out = request.at("out").get<std::string>();
    const auto vocabulary = static_cast<std::int64_t>(logits.size());
    const auto rows = static_cast<std::int64_t>(all.size()) / vocabulary;
    tests::writeNpy(out / "logits.npy", {rows, vocabulary}, all);
    tests::writeNpy(out / "keys.npy", recorder.keyShape, recorder.keys);
    tests::writeNpy(out / "queries.npy", recorder.queryShape, recorder.queries);
    const model::ModelInfo& info = model->info();
    const auto taken = static_cast<std::int64_t>(observed ? steps : 0);
    tests::writeNpy(out / "step_queries.npy", {taken, info.layers, info.heads, info.headDim},
                    stepRecorder.queries);
    tests::writeNpy(out / "step_keys.npy", {taken, info.layers, info.kvHeads, info.headDim},
                    stepRecorder.keys);
    return {{"token_ids", prompt.tokenIds},
            {"chosen", chosen},
            {"text", model->decodeText(chosen)},
            {"tokens_seen", seen},
            {"compute_dtype", dtypeName(model->computeDType())},
            {"end_tokens", model->endTokens()},
            {"seconds",
             {{"load", loadSeconds}, {"prefill", prefillSeconds}, {"decode", decodeSeconds}}}};
}

} // namespace

int main() {
    try {
        std::cout << runProbe(Json::parse(std::cin)).dump() << '\n';
        return 0;
    } catch (const Error& error) {
        std::cerr << error.message() << ' ' << error.advice() << '\n';
        return error.kind() == ErrorKind::BadInput ? 3 : 1;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
