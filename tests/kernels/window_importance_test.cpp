// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/window_importance.h"

#include "kernels/host_tensor.h"
#include "kernels/instruction_sets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace ecokv::kernels {

using test::HostTensor;
using test::Shape;

namespace {

/// Positions 0, 1, .. for the keys; the window's rows are the last tokens.
struct Positions {
    std::vector<std::int64_t> keys, queries;

    Positions(std::int64_t tokens, std::int64_t window)
        : keys(static_cast<std::size_t>(tokens)), queries(static_cast<std::size_t>(window)) {
        std::iota(keys.begin(), keys.end(), 0);
        std::iota(queries.begin(), queries.end(), tokens - window);
    }
};

std::vector<float> importance(const HostTensor& queries, const HostTensor& keys,
                              const Positions& positions, Backend backend, float scale = 0.0F) {
    const TensorView view = keys.view();
    std::vector<float> result(static_cast<std::size_t>(view.shape[0] * view.shape[1]), -77.0F);
    EXPECT_EQ(windowImportance(
                  {queries.view(), view, positions.queries.data(), positions.keys.data(), scale},
                  result.data(), backend),
              Status::Ok);
    return result;
}

class WindowImportance : public testing::TestWithParam<Backend> {};

} // namespace

TEST_P(WindowImportance, twoRowsWorkedByHand) {
    HostTensor queries(DType::F32, 1, 2, 2);
    queries.setRow(0, 0, {5, 5}); // sees only the first key
    queries.setRow(0, 1, {1, 0}); // logits 0 and ln 3: 1/4 and 3/4
    HostTensor keys(DType::F32, 1, 2, 2);
    keys.setRow(0, 0, {0, 1});
    keys.setRow(0, 1, {std::log(3.0F), 1});
    const auto result = importance(queries, keys, Positions(2, 2), GetParam(), 1.0F);
    EXPECT_NEAR(result[0], (1 + 0.25) / 2, 1e-6);
    EXPECT_NEAR(result[1], 0.75 / 2, 1e-6);
}

TEST_P(WindowImportance, defaultScaleIsOneOverTheRootOfDim) {
    HostTensor queries(DType::F32, 1, 1, 4);
    queries.setRow(0, 0, {2, 0, 0, 0});
    HostTensor keys(DType::F32, 1, 2, 4);
    keys.setRow(0, 0, {0, 0, 0, 0});
    keys.setRow(0, 1, {std::log(4.0F), 0, 0, 0}); // 2 ln 4 / 2
    const auto result = importance(queries, keys, Positions(2, 1), GetParam());
    EXPECT_NEAR(result[0], 0.2, 1e-6);
    EXPECT_NEAR(result[1], 0.8, 1e-6);
}

TEST_P(WindowImportance, averagesTheQueryHeadsOfEachGroup) { // F015
    HostTensor queries(DType::F32, 4, 1, 1);
    queries.setRow(0, 0, {1});
    queries.setRow(1, 0, {0});
    queries.setRow(2, 0, {2});
    queries.setRow(3, 0, {2});
    HostTensor keys(DType::F32, 2, 2, 1);
    keys.fill([](auto, auto token, auto) { return token == 1 ? std::log(3.0F) : 0.0F; });
    const auto result = importance(queries, keys, Positions(2, 1), GetParam(), 1.0F);
    EXPECT_NEAR(result[1], (0.75 + 0.5) / 2, 1e-6); // KV head 0: query heads 0 and 1
    EXPECT_NEAR(result[3], 0.9, 1e-6);              // KV head 1: ln 9
}

TEST_P(WindowImportance, largeHalfPrecisionProductsStayFinite) { // F023: raw 115200, scaled 10182
    for (const DType dtype : {DType::F16, DType::BF16, DType::F32}) {
        HostTensor queries(dtype, 2, 3, 128);
        HostTensor keys(dtype, 1, 10, 128);
        queries.fill([](auto, auto, auto) { return 30.0F; });
        keys.fill([](auto, auto, auto) { return 30.0F; });
        const auto result = importance(queries, keys, Positions(10, 3), GetParam());
        // Rows 7, 8, 9 see 8, 9 and 10 equal keys.
        for (std::size_t token = 0; token < 8; ++token) {
            EXPECT_NEAR(result[token], (1.0 / 8 + 1.0 / 9 + 1.0 / 10) / 3, 1e-7);
        }
        EXPECT_NEAR(result[8], (1.0 / 9 + 1.0 / 10) / 3, 1e-7);
        EXPECT_NEAR(result[9], 1.0 / 30, 1e-7);
    }
}

TEST_P(WindowImportance, visibilityFollowsTruePositions) { // F019: kept keys with gaps
    HostTensor queries(DType::F32, 1, 2, 4);
    HostTensor keys(DType::F32, 1, 4, 4);
    queries.fill([](auto, auto, auto) { return 0.0F; });
    keys.fillNormal(2);
    Positions positions(4, 2);
    positions.keys = {0, 50, 100, 101};
    positions.queries = {60, 100};
    const auto result = importance(queries, keys, positions, GetParam());
    EXPECT_NEAR(result[0], (1.0 / 2 + 1.0 / 3) / 2, 1e-6);
    EXPECT_NEAR(result[1], (1.0 / 2 + 1.0 / 3) / 2, 1e-6);
    EXPECT_NEAR(result[2], 1.0 / 6, 1e-6);
    EXPECT_EQ(result[3], 0.0F);
}

TEST_P(WindowImportance, valuesThatAreNotFiniteGetNoAttentionAndGiveNone) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    HostTensor queries(DType::F32, 1, 2, 2);
    queries.setRow(0, 0, {0, 0});
    queries.setRow(0, 1, {kNan, 0}); // contributes nothing
    HostTensor keys(DType::F32, 1, 4, 2);
    keys.fillNormal(4);
    keys.set(0, 1, 0, kNan);
    keys.set(0, 2, 1, std::numeric_limits<float>::infinity()); // 0 * inf
    Positions positions(4, 2);
    positions.queries = {3, 3};
    const auto result = importance(queries, keys, positions, GetParam());
    EXPECT_NEAR(result[0], 0.25, 1e-7);
    EXPECT_EQ(result[1], 0.0F);
    EXPECT_EQ(result[2], 0.0F);
    EXPECT_NEAR(result[3], 0.25, 1e-7);
}

TEST_P(WindowImportance, anEmptyWindowAsksForNothing) { // F013
    HostTensor keys(DType::F32, 2, 5, 4);
    keys.fillNormal(1);
    const auto result =
        importance(HostTensor(DType::F32, 4, 0, 4), keys, Positions(5, 0), GetParam());
    EXPECT_EQ(result, std::vector<float>(10, 0.0F));
}

TEST_P(WindowImportance, rowsThatSeeNoKeyAddNothing) {
    HostTensor queries(DType::F32, 1, 1, 4);
    HostTensor keys(DType::F32, 1, 3, 4);
    queries.fillNormal(1);
    keys.fillNormal(2);
    Positions positions(3, 1);
    positions.queries = {-1};
    EXPECT_EQ(importance(queries, keys, positions, GetParam()), std::vector<float>(3, 0.0F));
}

TEST_P(WindowImportance, everyRowSpendsExactlyOne) {
    HostTensor queries(DType::BF16, 6, 16, 64);
    HostTensor keys(DType::BF16, 2, 700, 64);
    queries.fillNormal(1, 1.0F);
    keys.fillNormal(2, 1.0F);
    const auto result = importance(queries, keys, Positions(700, 16), GetParam());
    EXPECT_NEAR(std::accumulate(result.begin(), result.begin() + 700, 0.0), 1, 1e-5);
    EXPECT_NEAR(std::accumulate(result.begin() + 700, result.end(), 0.0), 1, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Host, WindowImportance, testing::Values(Backend::Reference, Backend::Cpu),
                         [](const auto& info) {
                             return info.param == Backend::Cpu ? "cpu" : "reference";
                         });

TEST(WindowImportanceMatrix, cpuAgreesWithTheReference) {
    unsigned seed = 500;
    for (const Shape& shape : test::shapeMatrix()) {
        // Windows below, at and above what the product takes at once, and longer than the prompt.
        for (const std::int64_t window : {1, 5, 8, 33}) {
            const std::int64_t group = window == 33 ? 4 : 3;
            if (shape.tokens > 1000 && window == 33) {
                continue; // the scalar reference would take seconds
            }
            SCOPED_TRACE(describe(shape) + " window " + std::to_string(window));
            HostTensor queries(shape.dtype, 2 * group, window, shape.dim, shape.gap);
            HostTensor keys(shape.dtype, 2, shape.tokens, shape.dim, shape.gap);
            queries.fillNormal(++seed);
            keys.fillNormal(++seed, shape.offset);
            const Positions positions(shape.tokens, window);
            const auto wanted = importance(queries, keys, positions, Backend::Reference);
            test::forEachInstructionSet([&](const char* instructionSet) {
                SCOPED_TRACE(instructionSet);
                const auto result = importance(queries, keys, positions, Backend::Cpu);
                for (std::size_t i = 0; i < wanted.size(); ++i) {
                    ASSERT_NEAR(result[i], wanted[i], 1e-5F * wanted[i] + 1e-12F) << i;
                }
            });
        }
    }
}

} // namespace ecokv::kernels
