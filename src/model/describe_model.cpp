// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/describe_model.h"

#include "model/image/image_processor.h"
#include "model/model.h"
#include "model/sha256.h"
#include "model/text/chat_template.h"

namespace ecokv::model {

ModelInfo makeModelInfo(const std::filesystem::path& folder, const FolderParts& parts) {
    const ModelConfig& config = parts.config;
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
    info.rope = config.decoder.rope;
    info.imageTokensPerPicture = config.imageTokensPerPicture();
    info.imageWidth = info.imageHeight = config.vision.imageSize;
    info.patchSize = config.vision.patchSize;
    info.templateSource = parts.templateSource;
    info.processorSource = parts.processorSource;
    return info;
}

ModelInfo describeModel(const std::filesystem::path& folder) {
    const ModelConfig config = readModelConfig(folder);
    const Checkpoint checkpoint = Checkpoint::open(folder);
    const auto chatTemplate = ChatTemplate::open(folder);
    const auto processor = readImageProcessorConfig(folder);
    return makeModelInfo(folder, {.config = config,
                                  .checkpoint = checkpoint,
                                  .templateSource = chatTemplate ? chatTemplate->origin() : "",
                                  .processorSource = processor.source});
}

} // namespace ecokv::model
