// SPDX-License-Identifier: GPL-3.0-or-later
// Rotary settings of config.json (field cases F091, F092). Numbers of yarn are those that
// transformers 5.2 computes; the model as a whole is compared in tests/python/test_text_models.py.
#include "model/decoder/decoder_config.h"

#include "refusal.h"

#include <gtest/gtest.h>

namespace ecokv::model {

namespace {

DecoderConfig parse(const std::string& fields) {
    const Json json = parseJson("{" + fields + "}", "config.json");
    return parseDecoder(JsonObject(json, "config.json", "text_config"));
}

const RopeSettings& only(const DecoderConfig& decoder) {
    EXPECT_EQ(decoder.ropes.settings.size(), 1U);
    return decoder.ropes.settings.front();
}

std::string refused(const std::string& fields) {
    return refusal([&] { parse(fields); });
}

void expectFrequencies(const RopeSettings& rope, const std::vector<float>& wanted) {
    ASSERT_EQ(rope.inverseFrequencies.size(), wanted.size());
    for (std::size_t pair = 0; pair < wanted.size(); ++pair) {
        EXPECT_NEAR(rope.inverseFrequencies[pair], wanted[pair], 1e-6F * wanted[pair])
            << "pair " << pair;
    }
}

/// A llama decoder with heads of 16.
const std::string kHeads = R"("hidden_size":64,"num_attention_heads":4,)";

} // namespace

TEST(RopeConfig, yarnStretchesSlowPairsAndSharpensAttention) {
    const DecoderConfig decoder =
        parse(kHeads + R"("rope_parameters":{"rope_type":"yarn","rope_theta":1e6,"factor":4.0,
                          "original_max_position_embeddings":64})");
    const RopeSettings& rope = only(decoder);
    expectFrequencies(rope, {1.0F, 0.11114246F, 0.0079056947F, 0.0014058533F, 2.5e-4F,
                             4.4456985e-05F, 7.9056936e-06F, 1.4058534e-06F});
    EXPECT_FLOAT_EQ(rope.attentionScaling, 1.1386294F); // 0.1 ln 4 + 1
}

// InternVL3: nothing is stretched within max_position_embeddings, theta^(-2i / 16) stays.
TEST(RopeConfig, dynamicTurnsPlainlyWithinTheContext) {
    const DecoderConfig decoder =
        parse(kHeads + R"("rope_theta":1e4,"rope_scaling":{"type":"dynamic","rope_type":"dynamic",
                          "factor":2.0})");
    expectFrequencies(only(decoder), {1.0F, 0.31622777F, 0.1F, 0.031622777F, 0.01F, 0.0031622777F,
                                      0.001F, 3.1622777e-4F});
    EXPECT_FLOAT_EQ(only(decoder).attentionScaling, 1.0F);
}

TEST(RopeConfig, yarnTakesItsOwnBoundsAndScales) {
    const DecoderConfig decoder =
        parse(kHeads + R"("rope_theta":1e4,"rope_scaling":{"type":"yarn","factor":4.0,
                          "original_max_position_embeddings":1024,"mscale":1.0,"mscale_all_dim":0.5,
                          "truncate":false,"beta_fast":16,"beta_slow":2})");
    expectFrequencies(only(decoder), {1.0F, 0.31622776F, 0.1F, 0.018701805F, 0.0025F,
                                      7.9056947e-04F, 2.5e-4F, 7.9056947e-05F});
    EXPECT_FLOAT_EQ(only(decoder).attentionScaling, 1.0648217F);
}

/// Qwen2-VL: one run of pairs after the other.
TEST(RopeConfig, chunkedSectionsGiveRunsOfPairsToTheAxes) {
    const DecoderConfig decoder =
        parse(kHeads + R"("model_type":"qwen2_vl_text","num_key_value_heads":2,
                          "rope_scaling":{"type":"mrope","mrope_section":[2,3,3]})");
    const RopeSettings& rope = only(decoder);
    EXPECT_EQ(rope.axes, (std::vector<std::uint8_t>{0, 0, 1, 1, 1, 2, 2, 2}));
    EXPECT_EQ(rope.theta, 1e6); // of the family (field case F091)
    EXPECT_SAYS(refused(R"("model_type":"qwen2_vl_text")"), "mrope_section");
    EXPECT_SAYS(refused(kHeads + R"("model_type":"qwen2_vl_text","num_key_value_heads":2,
                                    "rope_scaling":{"mrope_section":[2,3,4]})"),
                "add up");
}

/// Qwen3-VL: pairs take turns until an axis has all of its own; time takes the rest.
TEST(RopeConfig, interleavedSectionsLetPairsTakeTurns) {
    const DecoderConfig decoder = parse(R"("model_type":"qwen3_vl_text","head_dim":16,
                 "rope_parameters":{"rope_type":"default","mrope_section":[4,2,2],
                                    "mrope_interleaved":true})");
    const RopeSettings& rope = only(decoder);
    EXPECT_EQ(rope.axes, (std::vector<std::uint8_t>{0, 1, 2, 0, 1, 2, 0, 0}));
    EXPECT_EQ(rope.theta, 5e5);
}

TEST(RopeConfig, slidingLayersOfGemmaTurnByTheirOwnBase) {
    const std::string base = R"("model_type":"gemma3_text","head_dim":4,"num_hidden_layers":3,
                                "sliding_window_pattern":3,)";
    for (const char* spelling : {R"("rope_theta":1e6,"rope_local_base_freq":1e4,
             "rope_scaling":{"rope_type":"linear","factor":8.0})",
                                 R"("rope_parameters":{
               "full_attention":{"rope_type":"linear","rope_theta":1e6,"factor":8.0},
               "sliding_attention":{"rope_type":"default","rope_theta":1e4}})",
                                 R"("rope_scaling":{"rope_type":"linear","factor":8.0})"}) {
        const DecoderConfig decoder = parse(base + spelling);
        EXPECT_EQ(decoder.slidingWindows, (std::vector<std::int64_t>{4096, 4096, 0}));
        expectFrequencies(decoder.ropes.of(LayerId{0}), {1.0F, 0.01F});
        expectFrequencies(decoder.ropes.of(LayerId{2}), {0.125F, 0.000125F});
    }
}

TEST(RopeConfig, aBaseThatAFamilyNeverUsesIsNoDefault) {
    EXPECT_SAYS(refused(R"("model_type":"qwen3")"), "rope_theta");
    EXPECT_SAYS(refused(R"("model_type":"qwen2")"), "rope_theta");
    EXPECT_EQ(only(parse(R"("model_type":"qwen3","rope_theta":1e6)")).theta, 1e6);
    EXPECT_EQ(only(parse(R"("model_type":"mistral")")).theta, 1e4); // the first Mistral
}

} // namespace ecokv::model
