// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the decoder of a model folder alone, without tower and tokenizer, for the oracles in Python:
// what it does with features of pictures, their positions and deepstack. One JSON object on stdin:
//   model          folder; config.json with a text_config, or a text model
//   prefix, head   names of the weights, as DecoderNames
//   token_ids      [token]
//   image_index    [token] picture, -1 = none              (default: no pictures)
//   features       file of raw float32 [imageToken, hidden]
//   deepstack      such files, for decoder layers 0, 1, ...
//   rope_positions [token] (time, row, column)             (default: their numbers)
//   chunk          of the prefill, in tokens               (default 0 = all)
//   forced         ids fed to decode one by one
//   out            file for the logits: float32 [1 + forced, vocabulary]
// One JSON object on stdout: shift, next (the rotary position of the token after the prompt).

#include "base/error.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_config.h"
#include "model/json_file.h"
#include "model/torch_runtime.h"
#include "model/weights/checkpoint.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>

namespace ecokv::model {

namespace {

at::Tensor readRows(const std::string& path, std::int64_t hidden) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    const auto count = static_cast<std::int64_t>(file.tellg()) / 4;
    file.seekg(0);
    at::Tensor rows = at::empty({count / hidden, hidden}, at::TensorOptions(c10::kFloat));
    file.read(reinterpret_cast<char*>(rows.data_ptr<float>()), count * 4);
    return rows;
}

at::Tensor imageTokens(const std::vector<std::int32_t>& imageIndex) {
    std::vector<std::int64_t> tokens;
    for (std::size_t token = 0; token < imageIndex.size(); ++token) {
        if (imageIndex[token] >= 0) {
            tokens.push_back(static_cast<std::int64_t>(token));
        }
    }
    at::Tensor index = at::empty({std::ssize(tokens)}, at::TensorOptions(c10::kLong));
    std::ranges::copy(tokens, index.data_ptr<std::int64_t>());
    return index;
}

Json runProbe(const Json& request) {
    const std::string folder = request.at("model");
    const Json json = readJsonFile(folder + "/config.json");
    const JsonObject root(json, folder + "/config.json");
    const DecoderConfig config = parseDecoder(root.findObject("text_config").value_or(root));
    const TorchScope scope(1);
    const Checkpoint checkpoint = Checkpoint::open(folder);
    const PrefixRule rules[] = {{"language_model.model.", "model.language_model."}};
    WeightLoader loader(checkpoint, rules, {});
    const Decoder decoder(config, {request.at("prefix"), request.at("head")}, loader,
                          at::TensorOptions(c10::kFloat));
    cache::KvCache cache({config.layers, config.kvHeads, config.headDim, DType::F32, {}});

    const auto ids = request.at("token_ids").get<std::vector<TokenId>>();
    const auto imageIndex = request.value("image_index", std::vector<std::int32_t>());
    const auto ropePositions = request.value("rope_positions", std::vector<cache::RopePosition>());
    at::Tensor hidden = decoder.embed(ids);
    DeepFeatures deep;
    if (request.contains("features")) {
        const at::Tensor tokens = imageTokens(imageIndex);
        hidden.index_copy_(0, tokens, readRows(request.at("features"), config.hidden));
        std::vector<at::Tensor> layers;
        for (const std::string path : request.value("deepstack", Json::array())) {
            layers.push_back(readRows(path, config.hidden));
        }
        deep.add(tokens, layers);
    }
    const CancellationToken cancel;
    const DecoderPass pass{.cache = cache,
                           .cancel = cancel,
                           .chunk = request.value("chunk", std::int64_t{0}),
                           .ropePositions = ropePositions,
                           .imageIndex = imageIndex,
                           .deepstack = deep};
    std::ofstream out(request.at("out").get<std::string>(), std::ios::binary);
    const auto write = [&](const at::Tensor& logits) {
        out.write(reinterpret_cast<const char*>(logits.const_data_ptr<float>()),
                  logits.numel() * 4);
    };
    write(decoder.prefill(hidden, pass));
    const Json answer{{"shift", cache.positionShift()},
                      {"next", cache.ropePosition(cache.tokensSeen())}};
    for (const TokenId id : request.value("forced", std::vector<TokenId>())) {
        write(decoder.extend(decoder.embed({&id, 1}), {cache, cancel}));
    }
    return answer;
}

} // namespace

} // namespace ecokv::model

int main() {
    try {
        const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
        std::cout << ecokv::model::runProbe(ecokv::model::parseJson(text, "stdin")).dump() << '\n';
        return 0;
    } catch (const ecokv::Error& error) {
        std::cerr << error.message() << ' ' << error.advice() << '\n';
        return 3;
    }
}
