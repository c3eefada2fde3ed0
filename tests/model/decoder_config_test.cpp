// SPDX-License-Identifier: GPL-3.0-or-later
// Families of decoders and kinds of attention (field case F034). That the numbers are those of
// transformers is tests/python/test_sliding.py.
#include "model/decoder/decoder_config.h"

#include "refusal.h"

#include <gtest/gtest.h>

namespace ecokv::model {

namespace {

using Windows = std::vector<std::int64_t>;

DecoderConfig parse(const std::string& fields) {
    const Json json = parseJson("{" + fields + "}", "config.json");
    return parseDecoder(JsonObject(json, "config.json", "text_config"));
}

std::string refused(const std::string& fields) {
    return refusal([&] { parse(fields); });
}

} // namespace

TEST(DecoderConfig, everyFamilyHasItsOwnDefaults) {
    const DecoderConfig mistral = parse(R"("model_type":"mistral","sliding_window":null)");
    EXPECT_EQ(mistral.kvHeads, 8);
    EXPECT_EQ(mistral.intermediate, 14336);
    EXPECT_EQ(mistral.maxPositions, 131072);
    EXPECT_FALSE(mistral.queryKeyValueBias);
    const DecoderConfig qwen = parse(R"("model_type":"qwen2","rope_theta":1e6)");
    EXPECT_EQ(qwen.vocabulary, 151936);
    EXPECT_EQ(qwen.maxPositions, 32768);
    EXPECT_TRUE(qwen.queryKeyValueBias);
    EXPECT_FALSE(qwen.outputBias);
    const DecoderConfig llama = parse(R"("attention_bias":true)");
    EXPECT_EQ(llama.kvHeads, 32);
    EXPECT_TRUE(llama.queryKeyValueBias);
    EXPECT_TRUE(llama.outputBias);
    EXPECT_EQ(parse(R"("model_type":"mistral","num_key_value_heads":null)").kvHeads, 32);
}

/// Field case F034: types sliding, full, sliding, full and window 8.
TEST(DecoderConfig, layerTypesSayWhichLayersSlide) {
    const std::string types =
        R"("model_type":"qwen2","rope_theta":1e6,"num_hidden_layers":4,"sliding_window":8,
        "layer_types":["sliding_attention","full_attention","sliding_attention","full_attention"],)";
    EXPECT_EQ(parse(types + R"("use_sliding_window":true)").slidingWindows, (Windows{8, 0, 8, 0}));
    EXPECT_SAYS(refused(types + R"("use_sliding_window":false)"), "no window");
}

TEST(DecoderConfig, withoutLayerTypesTheFamilyDecides) {
    const std::string four = R"("num_hidden_layers":4,"rope_theta":1e6,)";
    const std::string qwen =
        R"("model_type":"qwen2","sliding_window":16,"max_window_layers":3,)" + four;
    EXPECT_EQ(parse(qwen + R"("use_sliding_window":true)").slidingWindows, (Windows{0, 0, 0, 16}));
    EXPECT_EQ(parse(qwen + R"("use_sliding_window":false)").slidingWindows, (Windows{0, 0, 0, 0}));
    const std::string mistral = R"("model_type":"mistral",)" + four;
    EXPECT_EQ(parse(mistral + R"("sliding_window":8)").slidingWindows, (Windows{8, 8, 8, 8}));
    EXPECT_EQ(parse(mistral + R"("sliding_window":null)").slidingWindows, (Windows{0, 0, 0, 0}));
    EXPECT_EQ(parse(mistral + R"("head_dim":128)").slidingWindows,
              (Windows{4096, 4096, 4096, 4096}));
    // A window in a Llama's file has no meaning for transformers either.
    EXPECT_EQ(parse(four + R"("sliding_window":8)").slidingWindows, (Windows{0, 0, 0, 0}));
}

TEST(DecoderConfig, attentionThatIsNotSupportedIsRefusedByName) {
    const std::string two = R"("num_hidden_layers":2,"layer_types":)";
    EXPECT_SAYS(refused(two + R"(["chunked_attention","full_attention"])"), "chunked_attention");
    EXPECT_SAYS(refused(two + R"(["sliding_attention","full_attention"])"), "llama decoder");
    EXPECT_SAYS(refused(two + R"(["full_attention"])"), "2 layers, but names 1");
    EXPECT_SAYS(refused(two + R"("full_attention")"), "2 layers, but names 0");
    EXPECT_SAYS(refused(R"("model_type":"mistral","sliding_window":8,)" + two +
                        R"(["sliding_attention","full_attention"])"),
                "mistral decoder");
    EXPECT_SAYS(refused(R"("model_type":"mistral","sliding_window":0)"), "sliding_window = 0");
    EXPECT_SAYS(refused(R"("num_hidden_layers":2147483647)"), "more than any model has");
}

} // namespace ecokv::model
