// SPDX-License-Identifier: GPL-3.0-or-later
// Runs single parts of the model code for the Python oracles: one command, JSON on stdout.
//
//   ecokv_model_probe tokenize TOKENIZER_JSON < [{"text": ..., "special": bool}, {"ids": ...}, ...]
//   ecokv_model_probe time TOKENIZER_JSON TEXT_FILE
//   ecokv_model_probe template < [{"source": ..., "variables": {...}}, ...]
//   ecokv_model_probe chat FOLDER < [{"role": ..., "text": ..., "images": n}, ...]
//   ecokv_model_probe render FOLDER < [{variable: value}, ...]
//   ecokv_model_probe decode PICTURE OUT_U8 [as-stored | COLOUR under transparent pixels]
//   ecokv_model_probe pixels FOLDER PICTURE OUT_F32
//   ecokv_model_probe prompt FOLDER [OUT_FOLDER] < {"text": ..., "images": [...], "template": bool}
//   ecokv_model_probe config FOLDER
//   ecokv_model_probe weights FOLDER

#include "probe_commands.h"

#include "base/error.h"
#include "model/families/family.h"
#include "model/image/clip_processor.h"
#include "model/image/image_decoder.h"
#include "model/model.h"
#include "model/prompt_builder.h"
#include "model/sha256.h"
#include "model/weights/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace ecokv::model {

namespace {

Json decodeToFile(const Words& words) {
    std::vector<std::string> notes;
    PictureReading reading;
    reading.applyOrientation = words.size() < 3 || words[2] != "as-stored";
    if (words.size() > 2 && reading.applyOrientation) {
        reading.blendAlpha = parseColour(words[2]);
    }
    const Picture picture = decodePicture(words.at(0), reading, notes);
    writeFile(words.at(1), picture.pixels);
    return {{"width", picture.width},
            {"height", picture.height},
            {"orientation", picture.orientation},
            {"transparency", picture.transparency},
            {"sha256", picture.sha256},
            {"notes", notes}};
}

Json pixelsToFile(const Words& words) {
    std::vector<std::string> notes;
    const Picture picture = decodePicture(words.at(1), {}, notes);
    const ProcessedImage image =
        processImage(picture, readClipProcessor(ProcessorFile::open(words.at(0))));
    writeFile(words.at(2), image.pixels);
    return {{"width", image.size.width}, {"height", image.size.height}, {"notes", notes}};
}

Json boxesOf(const Prompt& prompt) {
    Json boxes = Json::array();
    for (const auto& box : prompt.patchBox) {
        boxes.push_back(std::isnan(box[0]) ? Json(nullptr) : Json(box));
    }
    return boxes;
}

/// What the tower takes, [picture]; the values go to files in `folder` unless it is "".
Json inputsOf(const Prompt& prompt, const std::string& folder) {
    Json inputs = Json::array();
    for (const PictureInput& picture : prompt.pictureInputs) {
        const std::string path = folder + "/input" + std::to_string(inputs.size()) + ".f32";
        if (!folder.empty()) {
            writeFile(path, picture.values);
        }
        inputs.push_back({{"file", path}, {"shape", picture.shape}, {"grid", picture.grid}});
    }
    return inputs;
}

Json picturesOf(const Prompt& prompt) {
    Json pictures = Json::array();
    for (const Picture& picture : prompt.pictures) {
        pictures.push_back(
            {{"resized", std::vector<int>{picture.resizedWidth, picture.resizedHeight}},
             {"grid", std::vector<int>{picture.gridColumns, picture.gridRows}}});
    }
    return pictures;
}

template <class Kind> std::vector<int> numbersOf(const std::vector<Kind>& kinds) {
    std::vector<int> numbers;
    for (const Kind kind : kinds) {
        numbers.push_back(static_cast<int>(kind));
    }
    return numbers;
}

Json buildPrompt(const Words& words) {
    const Json input = readInput();
    const auto builder = PromptBuilder::open(words.at(0), *openFamily(words.at(0)));
    PromptRequest request;
    request.text = input.at("text");
    request.images = input.value("images", std::vector<std::string>());
    request.applyTemplate = input.value("template", true);
    const Prompt prompt = builder.build(request);
    return {{"text", prompt.text},
            {"ids", prompt.tokenIds},
            {"kinds", numbersOf(prompt.tokenKind)},
            {"from_template", prompt.fromTemplate},
            {"image", prompt.imageIndex},
            {"boxes", boxesOf(prompt)},
            {"roles", numbersOf(prompt.patchRole)},
            {"rope_positions", prompt.ropePositions},
            {"inputs", inputsOf(prompt, words.size() > 1 ? words[1] : "")},
            {"pictures", picturesOf(prompt)},
            {"image_tokens", prompt.imageTokens()},
            {"notes", prompt.notes}};
}

Json describeConfig(const Words& words) {
    const auto family = openFamily(words.at(0));
    const ModelConfig& config = family->config();
    const DecoderConfig& decoder = config.decoder;
    return {{"vocabulary", decoder.vocabulary},
            {"hidden", decoder.hidden},
            {"intermediate", decoder.intermediate},
            {"layers", decoder.layers},
            {"heads", decoder.heads},
            {"kv_heads", decoder.kvHeads},
            {"head_dim", decoder.headDim},
            {"max_positions", decoder.maxPositions},
            {"rms_norm_eps", decoder.rmsNormEps},
            {"theta", decoder.ropes.settings.at(0).theta},
            {"inverse_frequencies", decoder.ropes.settings.at(0).inverseFrequencies},
            {"tied", decoder.tiedEmbeddings},
            {"vision_layers", config.visionLayers},
            {"image_size", config.imageWidth},
            {"patch_size", config.patchSize},
            {"image_tokens", config.imageTokensPerPicture},
            {"image_token", config.imageToken},
            {"end_tokens", readEndTokens(words.at(0), config)}};
}

Json describeWeights(const Words& words) {
    const Checkpoint checkpoint = Checkpoint::open(words.at(0));
    Json tensors = Json::object();
    for (const StoredTensor* tensor : checkpoint.tensors()) {
        Sha256 hash;
        hash.update(tensor->bytes);
        tensors[tensor->name] = {
            {"dtype", tensor->dtypeName}, {"shape", tensor->shape}, {"sha256", hash.hex()}};
    }
    return {{"tensors", tensors},
            {"parameters", checkpoint.parameters()},
            {"bytes", checkpoint.fileBytes()},
            {"dtype", dtypeName(checkpoint.storedDType())}};
}

int run(int count, char** arguments) {
    const std::map<std::string, Json (*)(const Words&)> commands{
        {"tokenize", tokenize},       {"time", timeTokenizer},     {"template", renderTemplates},
        {"chat", renderChat},         {"render", renderVariables}, {"decode", decodeToFile},
        {"pixels", pixelsToFile},     {"prompt", buildPrompt},     {"config", describeConfig},
        {"weights", describeWeights},
    };
    const Words words(arguments + std::min(count, 2), arguments + count);
    const auto command = commands.find(count > 1 ? arguments[1] : "");
    if (command == commands.end()) {
        std::cerr << "unknown command; see the head of model_probe.cpp\n";
        return 2;
    }
    try {
        std::cout << command->second(words).dump() << "\n";
        return 0;
    } catch (const Error& error) {
        std::cerr << error.what() << "\n";
        return 3;
    }
}

} // namespace

} // namespace ecokv::model

int main(int count, char** arguments) {
    return ecokv::model::run(count, arguments);
}
