// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/decoder/rotary.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ecokv::model {
namespace {

RopeSettings settings(std::vector<float> frequencies) {
    RopeSettings rope;
    rope.inverseFrequencies = std::move(frequencies);
    return rope;
}

/// Pairs (0, 2) and (1, 3) of a four-dimensional key turn by position * frequency.
TEST(Rotary, turnsPairsHalfADimensionApart) {
    const Rotary rotary(settings({1.0F, 0.1F}), at::TensorOptions(c10::kFloat));
    const std::vector<std::int64_t> positions{3, 5};
    at::Tensor x = at::empty({2, 1, 4}, at::TensorOptions(c10::kFloat)); // [token, head, dim]
    const float values[] = {1.0F, 2.0F, 3.0F, 4.0F, -1.0F, 0.5F, 2.0F, 7.0F};
    std::copy(std::begin(values), std::end(values), x.data_ptr<float>());

    const at::Tensor out = rotate(x, rotary.tables(positions));

    ASSERT_EQ(out.sizes(), (at::IntArrayRef{1, 2, 4}));
    ASSERT_TRUE(out.is_contiguous());
    const float* rotated = out.const_data_ptr<float>();
    const double frequencies[] = {1.0, 0.1};
    for (int token = 0; token < 2; ++token) {
        for (int i = 0; i < 2; ++i) {
            const double angle = static_cast<double>(positions[token]) * frequencies[i];
            const double a = values[token * 4 + i];
            const double b = values[token * 4 + i + 2];
            EXPECT_NEAR(rotated[token * 4 + i], a * std::cos(angle) - b * std::sin(angle), 1e-5);
            EXPECT_NEAR(rotated[token * 4 + i + 2], b * std::cos(angle) + a * std::sin(angle),
                        1e-5);
        }
    }
}

TEST(Rotary, keepsNormsAtLargePositions) {
    const Rotary rotary(settings({1.0F, 1e-6F}), at::TensorOptions(c10::kFloat));
    const std::vector<std::int64_t> positions{131071};
    const at::Tensor x = at::zeros({1, 2, 4}, at::TensorOptions(c10::kFloat));
    x.fill_(2.0);
    const at::Tensor out = rotate(x, rotary.tables(positions));
    const float* v = out.const_data_ptr<float>();
    EXPECT_NEAR(v[0] * v[0] + v[2] * v[2], 8.0, 1e-5);
    EXPECT_NEAR(v[1] * v[1] + v[3] * v[3], 8.0, 1e-5);
}

/// Field case F067, with the positions of a picture's token: pairs turn by time, row and column.
TEST(Rotary, pairsTurnByTheAxisTheyBelongTo) {
    RopeSettings rope = settings({1.0F, 0.5F, 0.25F});
    rope.axes = {0, 1, 2};
    const Rotary rotary(rope, at::TensorOptions(c10::kFloat));
    const std::vector<cache::RopePosition> positions{{3, 4, 5}, {6, 6, 6}};
    const RotaryTables tables = rotary.tables(positions);
    const double angles[] = {3.0, 2.0, 1.25, 6.0, 3.0, 1.5}; // position of the axis * frequency
    for (int i = 0; i < 6; ++i) {
        EXPECT_NEAR(tables.cosine.const_data_ptr<float>()[i], std::cos(angles[i]), 1e-6);
        EXPECT_NEAR(tables.sine.const_data_ptr<float>()[i], std::sin(angles[i]), 1e-6);
    }
}

TEST(Rotary, dimsBehindTheLastPairStayAsTheyAre) {
    const Rotary rotary(settings({1.0F}), at::TensorOptions(c10::kFloat));
    const std::vector<std::int64_t> positions{2};
    at::Tensor x = at::arange(1, 7, at::TensorOptions(c10::kFloat)).view({1, 1, 6});
    const at::Tensor out = rotate(x, rotary.tables(positions));
    const float* v = out.const_data_ptr<float>();
    EXPECT_NEAR(v[0], 1.0 * std::cos(2.0) - 2.0 * std::sin(2.0), 1e-6);
    EXPECT_NEAR(v[1], 2.0 * std::cos(2.0) + 1.0 * std::sin(2.0), 1e-6);
    for (int i = 2; i < 6; ++i) {
        EXPECT_EQ(v[i], static_cast<float>(i + 1));
    }
}

TEST(Rotary, attentionScalingLengthensWhatTurns) {
    RopeSettings rope = settings({1.0F});
    rope.attentionScaling = 1.25F;
    const Rotary rotary(rope, at::TensorOptions(c10::kFloat));
    const std::vector<std::int64_t> positions{7};
    at::Tensor x = at::zeros({1, 1, 4}, at::TensorOptions(c10::kFloat));
    x.fill_(2.0);
    const at::Tensor out = rotate(x, rotary.tables(positions));
    const float* v = out.const_data_ptr<float>();
    EXPECT_NEAR(v[0] * v[0] + v[1] * v[1], 8.0 * 1.5625, 1e-5);
    EXPECT_EQ(v[2], 2.0F);
    EXPECT_EQ(v[3], 2.0F);
}

} // namespace
} // namespace ecokv::model
