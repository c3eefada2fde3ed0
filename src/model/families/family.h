#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What sets a family of models apart, and nothing else: how its config.json reads, how its pictures
// become pixels and tokens, how its tower is built, under which names its weights are stored. The
// decoder, the tokenizer, templates and the run are shared. One file per family here; registry.cpp
// has a line for each.

#include "model/json_file.h"
#include "model/model_config.h"
#include "model/picture_processor.h"
#include "model/text/tokenizer.h"
#include "model/weight_names.h"

#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace ecokv::model {

class VisionEncoder;
class WeightLoader;

/// The family of one folder, its config.json understood. Immutable.
class Family {
public:
    explicit Family(ModelConfig config) : m_config(std::move(config)) {}
    virtual ~Family() = default;

    const ModelConfig& config() const { return m_config; }

    /// Reads the folder's processor files. Null for a family without pictures.
    virtual std::unique_ptr<PictureProcessor> openProcessor(const std::filesystem::path& folder,
                                                            const Tokenizer& tokenizer) const;
    /// Takes tower and projector from the weights. Null for a family without pictures.
    virtual std::unique_ptr<VisionEncoder> takeVision(WeightLoader& loader) const;
    /// Other spellings of tensor names, older exports and what transformers 5 writes.
    virtual std::span<const PrefixRule> prefixRules() const = 0;
    virtual DecoderNames decoderNames() const { return {}; }

protected:
    /// The image token as the tokenizer writes it ("<image>"). Throws Error{BadInput} where
    /// config.json and tokenizer.json do not belong together.
    std::string imageTokenText(const Tokenizer& tokenizer) const;

private:
    ModelConfig m_config;
};

/// What every family starts from: the file, and the values that all have in common.
struct ConfigFile {
    const JsonObject& root;
    ModelConfig shared; ///< path, json, architecture, dtype, end tokens; the rest is the family's
};

/// Throws Error{BadInput} naming the key.
using ReadFamily = std::unique_ptr<Family> (*)(const ConfigFile&);

std::unique_ptr<Family> readGemma3(const ConfigFile& file);
std::unique_ptr<Family> readIdefics3(const ConfigFile& file);
std::unique_ptr<Family> readInternVl(const ConfigFile& file);
std::unique_ptr<Family> readLlava(const ConfigFile& file);
std::unique_ptr<Family> readLlavaNext(const ConfigFile& file);
std::unique_ptr<Family> readQwen2Vl(const ConfigFile& file);
std::unique_ptr<Family> readQwen2_5Vl(const ConfigFile& file);
std::unique_ptr<Family> readQwen3Vl(const ConfigFile& file);
std::unique_ptr<Family> readQwen35(const ConfigFile& file);
std::unique_ptr<Family> readTextModel(const ConfigFile& file);

/// Reads FOLDER/config.json. Throws Error{BadInput}: no such file, an architecture that is not
/// supported (all that are get named), a key that does not fit.
std::unique_ptr<Family> openFamily(const std::filesystem::path& folder);
std::unique_ptr<Family> parseFamily(const std::string& json, const std::string& origin);
/// "LlavaForConditionalGeneration, LlamaForCausalLM, ..."
std::string supportedArchitectures();

} // namespace ecokv::model
