// SPDX-License-Identifier: GPL-3.0-or-later
// Language models without eyes: LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, ...
#include "model/decoder/decoder_config.h"
#include "model/families/family.h"
#include "model/vision/vision_encoder.h"

namespace ecokv::model {

namespace {

/// transformers 5 writes the text part of Qwen3.5 under the names of the whole model (F087).
constexpr PrefixRule kPrefixRules[] = {{"model.language_model.", "model."}};

class TextModel final : public Family {
public:
    using Family::Family;

    std::span<const PrefixRule> prefixRules() const override { return kPrefixRules; }
    DecoderNames decoderNames() const override { return {.prefix = "model.", .head = "lm_head"}; }
};

} // namespace

std::unique_ptr<Family> readTextModel(const ConfigFile& file) {
    ModelConfig config = file.shared;
    config.decoder = parseDecoder(file.root);
    config.family = config.decoder.family;
    return std::make_unique<TextModel>(std::move(config));
}

} // namespace ecokv::model
