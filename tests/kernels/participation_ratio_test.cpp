// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/participation_ratio.h"

#include "kernels/host_tensor.h"
#include "kernels/instruction_sets.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ecokv::kernels {

using test::HostTensor;
using test::Shape;

namespace {

class ParticipationRatio : public testing::TestWithParam<Backend> {};

std::vector<double> ratios(const HostTensor& keys, Backend backend) {
    std::vector<double> result(static_cast<std::size_t>(keys.view().shape[0]), -77.0);
    EXPECT_EQ(participationRatio(keys.view(), result.data(), backend), Status::Ok);
    return result;
}

} // namespace

TEST_P(ParticipationRatio, followsTheEigenvaluesOfTheCovariance) {
    HostTensor keys(DType::F32, 3, 4, 2);
    keys.fill([](std::int64_t head, std::int64_t token, std::int64_t i) {
        // Points (+-a, +-b) around (100, -50): eigenvalues a^2 and b^2.
        const float a = 1.0F;
        const float b = head == 0 ? 1.0F : head == 1 ? 0.0F : 2.0F;
        const float side = (token >> i) % 2 == 0 ? 1.0F : -1.0F;
        return (i == 0 ? 100.0F + side * a : -50.0F + side * b);
    });
    const auto result = ratios(keys, GetParam());
    EXPECT_NEAR(result[0], 2, 1e-6);
    EXPECT_NEAR(result[1], 1, 1e-6);
    EXPECT_NEAR(result[2], 25.0 / 17, 1e-6); // (1 + 4)^2 / (1 + 16)
}

TEST_P(ParticipationRatio, doesNotDependOnTheScaleOfTheKeys) {
    HostTensor keys(DType::F32, 1, 60, 20);
    keys.fillNormal(8, 0.5F);
    const double wanted = ratios(keys, GetParam())[0];
    for (const float scale : {1e-25F, 1e-12F, 1e18F, 1e30F}) {
        HostTensor scaled = keys;
        scaled.fill(
            [&](auto head, auto token, auto i) { return scale * keys.get(head, token, i); });
        EXPECT_NEAR(ratios(scaled, GetParam())[0], wanted, 1e-4 * wanted) << scale;
    }
}

TEST_P(ParticipationRatio, equalKeysHaveNoSpectrum) {
    HostTensor keys(DType::BF16, 1, 30, 16);
    keys.fill([](auto, auto, auto i) { return 0.37F * static_cast<float>(i) - 2.0F; });
    EXPECT_EQ(ratios(keys, GetParam())[0], 0);
    EXPECT_EQ(ratios(HostTensor(DType::BF16, 1, 0, 16), GetParam())[0], 0);
}

TEST_P(ParticipationRatio, keysThatAreNotFiniteCountAsZeroKeys) {
    HostTensor zeroed(DType::F32, 1, 20, 24);
    zeroed.fillNormal(3);
    zeroed.setRow(0, 7, std::vector<float>(24, 0.0F));
    HostTensor poisoned = zeroed;
    poisoned.set(0, 7, 23, std::numeric_limits<float>::quiet_NaN());
    EXPECT_EQ(ratios(poisoned, GetParam()), ratios(zeroed, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Host, ParticipationRatio,
                         testing::Values(Backend::Reference, Backend::Cpu), [](const auto& info) {
                             return info.param == Backend::Cpu ? "cpu" : "reference";
                         });

TEST(ParticipationRatioMatrix, cpuAgreesWithTheReference) {
    unsigned seed = 900;
    for (const Shape& shape : test::shapeMatrix()) {
        HostTensor keys(shape.dtype, 2, shape.tokens, shape.dim, shape.gap);
        keys.fillNormal(++seed, shape.offset);
        const auto wanted = ratios(keys, Backend::Reference);
        test::forEachInstructionSet([&](const char* instructionSet) {
            SCOPED_TRACE(instructionSet);
            const auto result = ratios(keys, Backend::Cpu);
            for (std::size_t head = 0; head < 2; ++head) {
                ASSERT_NEAR(result[head], wanted[head], 1e-5 * wanted[head]) << describe(shape);
            }
        });
    }
}

} // namespace ecokv::kernels
