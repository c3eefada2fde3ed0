// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/describe_model.h"

#include "base/error.h"
#include "model/image/normalization.h"
#include "model/model.h"
#include "model/sha256.h"

#include <fmt/format.h>

namespace ecokv::model {

namespace {

/// Before modules are made for them: a layer has at least one tensor of its own.
void checkLayerCount(const ModelConfig& config, const Checkpoint& checkpoint) {
    const auto tensors = static_cast<std::int64_t>(checkpoint.tensors().size());
    const std::int64_t layers = std::int64_t{config.decoder.layers} + config.visionLayers;
    if (layers > tensors) {
        throwBadInput(fmt::format("{} names {} decoder and {} vision layers, but the weights hold "
                                  "only {} tensors.",
                                  config.path, config.decoder.layers, config.visionLayers, tensors),
                      "The configuration belongs to another model, or is damaged; fetch it again.");
    }
}

} // namespace

ModelInfo makeModelInfo(const std::filesystem::path& folder, const FolderParts& parts) {
    const ModelConfig& config = parts.config;
    checkLayerCount(config, parts.checkpoint);
    ModelInfo info;
    const auto normal = std::filesystem::absolute(folder).lexically_normal();
    info.name = (normal.has_filename() ? normal : normal.parent_path()).filename().string();
    info.family = config.family;
    info.architecture = config.architecture;
    info.path = folder.string();
    info.configJson = config.json;
    info.configSha256 = sha256Hex(config.json);
    info.weightsSha256 = parts.checkpoint.headerSha256();
    info.layers = config.decoder.layers;
    info.heads = config.decoder.heads;
    info.kvHeads = config.decoder.kvHeads;
    info.headDim = config.decoder.headDim;
    info.hidden = config.decoder.hidden;
    info.vocabulary = config.decoder.vocabulary;
    info.maxPositions = config.decoder.maxPositions;
    info.parameters = parts.checkpoint.parameters();
    info.weightBytes = parts.checkpoint.fileBytes();
    info.storedDType = parts.checkpoint.storedDType();
    info.ropes = config.decoder.ropes;
    info.decoder = config.decoder.family;
    info.slidingWindows = config.decoder.slidingWindows;
    info.linearLayers = config.decoder.linearLayers;
    info.imageTokensPerPicture = config.imageTokensPerPicture;
    info.imageWidth = config.imageWidth;
    info.imageHeight = config.imageHeight;
    info.patchSize = config.patchSize;
    if (const auto& chatTemplate = parts.prompts.chatTemplate()) {
        info.templateSource = chatTemplate->origin();
    }
    if (const PictureProcessor* processor = parts.prompts.pictureProcessor()) {
        info.processorSource = processor->source();
        info.processorClass = ProcessorFile::open(folder).writtenType();
        info.processorRule = processor->sizeRule();
        info.pictureLines = processor->describe();
    }
    return info;
}

ModelInfo describeModel(const std::filesystem::path& folder) {
    const auto family = openFamily(folder);
    const Checkpoint checkpoint = Checkpoint::open(folder);
    const PromptBuilder prompts = PromptBuilder::open(folder, *family);
    return makeModelInfo(
        folder, {.config = family->config(), .checkpoint = checkpoint, .prompts = prompts});
}

} // namespace ecokv::model
