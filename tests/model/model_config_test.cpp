// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/describe_model.h"
#include "model/end_tokens.h"
#include "model/families/family.h"
#include "model/model.h"
#include "model/sha256.h"
#include "model/vision/vision_config.h"

#include "refusal.h"
#include "temporary_folder.h"

#include <gtest/gtest.h>

namespace ecokv::model {

namespace {

std::string llava(const std::string& text, const std::string& top = "") {
    return R"({"model_type":"llava","architectures":["LlavaForConditionalGeneration"],)" + top +
           R"("text_config":{"model_type":"llama",)" + text + R"("vocab_size":100}})";
}

ModelConfig parse(const std::string& text, const std::string& top = "") {
    return parseFamily(llava(text, top), "config.json")->config();
}

std::string refused(const std::string& text, const std::string& top = "") {
    const std::string said = refusal([&] { parse(text, top); });
    EXPECT_SAYS(said, "config.json");
    return said;
}

} // namespace

TEST(ModelConfig, missingKeysHaveTheDefaultsOfTransformers) {
    const ModelConfig config = parse("");
    EXPECT_EQ(config.decoder.hidden, 4096);
    EXPECT_EQ(config.decoder.intermediate, 11008);
    EXPECT_EQ(config.decoder.layers, 32);
    EXPECT_EQ(config.decoder.kvHeads, 32);
    EXPECT_EQ(config.decoder.headDim, 128);
    EXPECT_EQ(config.decoder.maxPositions, 2048);
    EXPECT_EQ(config.decoder.rmsNormEps, 1e-6);
    EXPECT_EQ(config.decoder.ropes.settings.at(0).theta, 10000.0);
    EXPECT_EQ(config.imageWidth, 336); // no vision_config: the tower of LLaVA-1.5
    EXPECT_EQ(config.imageTokensPerPicture, 576);
    EXPECT_EQ(config.imageToken, 32000);
}

TEST(ModelConfig, theTokenOfPicturesIsReadInBothSpellings) {
    EXPECT_EQ(parse("", R"("image_token_index":7,)").imageToken, 7);
    EXPECT_EQ(parse("", R"("image_token_id":8,)").imageToken, 8);
    EXPECT_SAYS(refused("", R"("image_token_id":-5,)"), "image_token_id = -5 is not a token id");
}

TEST(ModelConfig, headSizeComesFromTheFile) { // F095
    const auto config =
        parse(R"("hidden_size":64,"num_attention_heads":4,"head_dim":32,"num_key_value_heads":2,)");
    EXPECT_EQ(config.decoder.headDim, 32);
    EXPECT_EQ(config.decoder.ropes.settings.at(0).inverseFrequencies.size(), 16U);
    EXPECT_SAYS(refused(R"("head_dim":33,)"), "head_dim = 33 is odd");
    EXPECT_SAYS(refused(R"("num_key_value_heads":5,)"), "num_key_value_heads = 5");
    EXPECT_SAYS(refused(R"("hidden_size":100,)"), "hidden_size = 100");
    EXPECT_SAYS(refused(R"("num_hidden_layers":0,)"), "num_hidden_layers = 0");
    EXPECT_SAYS(refused(R"("num_hidden_layers":"six",)"), "must be an integer, but it is a string");
}

TEST(ModelConfig, bothSpellingsOfTheRotaryBaseAreRead) { // F091
    const auto older = parse(R"("rope_theta":1000000.0,)");
    const auto newer =
        parse(R"("rope_parameters":{"rope_theta":1000000.0,"rope_type":"default"},)");
    EXPECT_EQ(older.decoder.ropes.settings.at(0).theta, 1e6);
    EXPECT_EQ(older.decoder.ropes.settings.at(0).inverseFrequencies,
              newer.decoder.ropes.settings.at(0).inverseFrequencies);
    EXPECT_FLOAT_EQ(newer.decoder.ropes.settings.at(0).inverseFrequencies[32],
                    1e-3F); // 1e6 ^ -(64/128)
}

TEST(ModelConfig, scaledRotaryTypesAreAppliedOrRefusedByName) { // F092
    const auto plain = parse("").decoder.ropes.settings.at(0).inverseFrequencies;
    const auto linear = parse(R"("rope_scaling":{"type":"linear","factor":4.0},)")
                            .decoder.ropes.settings.at(0)
                            .inverseFrequencies;
    EXPECT_FLOAT_EQ(linear[5], plain[5] / 4);
    const auto llama3 = parse(R"("rope_theta":10000.0,"rope_scaling":{"rope_type":"llama3",
        "factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0,
        "original_max_position_embeddings":8192},)")
                            .decoder.ropes.settings.at(0)
                            .inverseFrequencies;
    EXPECT_EQ(llama3[0], plain[0]);             // wavelength 6.3 < 2048: kept
    EXPECT_FLOAT_EQ(llama3[63], plain[63] / 8); // wavelength 54410 > 8192: stretched
    const double wavelength = 2 * 3.14159265358979 / static_cast<double>(plain[45]); // about 4079
    const double smooth = (8192 / wavelength - 1) / 3;
    EXPECT_NEAR(llama3[45], (1 - smooth) * plain[45] / 8 + smooth * plain[45], 1e-9);
    EXPECT_SAYS(refused(R"("rope_scaling":{"rope_type":"longrope","factor":2.0},)"),
                "\"longrope\"");
    EXPECT_SAYS(refused(R"("rope_parameters":{"full_attention":{"rope_theta":1.0}},)"),
                "full_attention");
    EXPECT_SAYS(refused(R"("rope_scaling":{"type":"linear"},)"), "factor");
}

TEST(ModelConfig, otherModelsAreRefusedByNameWithWhatIsSupported) {
    const auto sentence = [](const std::string& json) {
        return refusal([&] { parseFamily(json, "config.json"); });
    };
    const std::string other =
        sentence(R"({"model_type":"bert","architectures":["BertForMaskedLM"]})");
    EXPECT_SAYS(other, "BertForMaskedLM");
    EXPECT_SAYS(other, "Supported are LlavaForConditionalGeneration, ");
    EXPECT_SAYS(sentence(R"({"model_type":"llava","text_config":{"model_type":"falcon"}})"),
                "falcon");
    EXPECT_SAYS(sentence(R"({"model_type":"llava","vision_config":{"model_type":"pixtral"}})"),
                "pixtral");
    EXPECT_SAYS(sentence("{\n  \"model_type\": llava\n}"), "line 2, column 17");
    EXPECT_SAYS(sentence(R"({"model_type":"llama","architectures":["LlamaForCausalLM"],)"
                         R"("quantization_config":{"quant_method":"fp8"}})"),
                "quantised (\"fp8\")"); // F093: packed bytes are not read as plain ones
    EXPECT_SAYS(refused("", R"("vision_feature_layer":[-2,"a"],)"), "[-2,\"a\"]");
    EXPECT_SAYS(refused("", R"("vision_feature_layer":-30,)"), "-30");
    EXPECT_SAYS(refused("", R"("vision_feature_select_strategy":"cls",)"), "\"cls\"");
    EXPECT_SAYS(refused(R"("hidden_act":"xielu",)"), "xielu");
}

TEST(ModelConfig, endTokensPreferTheGenerationConfig) { // F120
    const TemporaryFolder folder;
    const auto config = parse(R"("eos_token_id":2,)");
    EXPECT_EQ(readEndTokens(folder.path(), config), std::vector<TokenId>{2});
    folder.write("generation_config.json", R"({"eos_token_id":[128131,2,2]})");
    EXPECT_EQ(readEndTokens(folder.path(), config), (std::vector<TokenId>{2, 128131}));
    folder.write("generation_config.json", R"({"eos_token_id":7})");
    EXPECT_EQ(readEndTokens(folder.path(), config), std::vector<TokenId>{7});
    folder.write("generation_config.json", R"({"eos_token_id":"</s>"})");
    EXPECT_SAYS(refusal([&] { readEndTokens(folder.path(), config); }), "eos_token_id");
}

TEST(ModelConfig, theTokenizersOwnEndTokenEndsToo) { // F120
    const auto tokenizer = Tokenizer::open(std::string(ECOKV_SOURCE_DIR) + "/resources/demo-model");
    const TemporaryFolder folder;
    const auto config = parse(R"("eos_token_id":2,)");
    EXPECT_EQ(endTokens(folder.path(), config, tokenizer), std::vector<TokenId>{2});
    folder.write("generation_config.json", R"({"eos_token_id":[2,128131]})");
    folder.write("tokenizer_config.json", R"({"eos_token":{"content":"</s>"}})");
    EXPECT_EQ(endTokens(folder.path(), config, tokenizer), (std::vector<TokenId>{2, 257, 128131}));
    folder.write("tokenizer_config.json", R"({"eos_token":"nowhere"})");
    EXPECT_EQ(endTokens(folder.path(), config, tokenizer), (std::vector<TokenId>{2, 128131}));
}

TEST(DescribeModel, readsTheDemoModelWithoutItsWeights) {
    const std::string folder = std::string(ECOKV_SOURCE_DIR) + "/resources/demo-model";
    const ModelInfo info = describeModel(folder);
    EXPECT_EQ(info.name, "demo-model");
    EXPECT_EQ(info.layers, 6);
    EXPECT_EQ(info.heads, 8);
    EXPECT_EQ(info.kvHeads, 4);
    EXPECT_EQ(info.headDim, 32);
    EXPECT_EQ(info.vocabulary, 260);
    EXPECT_EQ(info.storedDType, DType::BF16);
    EXPECT_EQ(info.imageTokensPerPicture, 256);
    EXPECT_EQ(info.patchSize, 12);
    EXPECT_EQ(info.ropes.of(LayerId{0}).inverseFrequencies.size(), 16U);
    EXPECT_TRUE(info.templateSource.ends_with("chat_template.jinja"));
    EXPECT_TRUE(info.processorSource.ends_with("processor_config.json"));
    EXPECT_EQ(info.processorClass, "CLIPImageProcessor"); // F043
    EXPECT_EQ(info.processorRule, "short side to 192 pixels, the other in proportion, rounded "
                                  "down; 192 x 192 pixels cut from the middle, offsets rounded "
                                  "down");
    EXPECT_EQ(info.configSha256.size(), 64U);
    EXPECT_GT(info.weightBytes, 2 * info.parameters); // bf16 and a header
    EXPECT_EQ(describeModel(folder + "/").name, "demo-model");
}

TEST(DescribeModel, refusesMoreLayersThanTheWeightsCanHold) {
    const std::filesystem::path demo = std::string(ECOKV_SOURCE_DIR) + "/resources/demo-model";
    const TemporaryFolder folder;
    std::filesystem::copy(demo, folder.path(), std::filesystem::copy_options::recursive);
    std::string config = describeModel(demo).configJson;
    const std::string layers = "\"num_hidden_layers\": 6";
    ASSERT_NE(config.find(layers), std::string::npos);
    config.replace(config.find(layers), layers.size(), "\"num_hidden_layers\": 2000000");
    folder.write("config.json", config);
    EXPECT_SAYS(refusal([&] { describeModel(folder.path()); }), "2000000 decoder");
}

TEST(Sha256, equalsTheTestVectorOfTheStandard) {
    EXPECT_EQ(sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

} // namespace ecokv::model
