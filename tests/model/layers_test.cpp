// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/layers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ecokv::model {
namespace {

at::Tensor tensor(const std::vector<float>& values, at::IntArrayRef shape) {
    at::Tensor t = at::empty(shape, at::TensorOptions(c10::kFloat));
    std::copy(values.begin(), values.end(), t.data_ptr<float>());
    return t;
}

float at0(const at::Tensor& t, std::int64_t i) {
    return t.contiguous().const_data_ptr<float>()[i];
}

TEST(Layers, rmsNormDividesByTheRootMeanSquare) {
    const RmsNorm norm{tensor({2.0F, 1.0F}, {2}), 0.5};
    const at::Tensor y = norm(tensor({3.0F, 4.0F}, {1, 2}));
    const double root = std::sqrt((9.0 + 16.0) / 2.0 + 0.5); // 3.6055
    EXPECT_NEAR(at0(y, 0), 2.0 * 3.0 / root, 1e-6);
    EXPECT_NEAR(at0(y, 1), 4.0 / root, 1e-6);
}

/// In bf16 the square of 300 and the mean are not representable: the norm must be taken in f32.
TEST(Layers, rmsNormOfBf16IsTakenInF32) {
    const RmsNorm norm{tensor({1.0F, 1.0F}, {2}).to(c10::kBFloat16), 0.0};
    const at::Tensor x = tensor({1.0F, 257.0F}, {1, 2}).to(c10::kBFloat16); // 257 rounds to 256
    const at::Tensor y = norm(x).to(c10::kFloat);
    EXPECT_NEAR(at0(y, 1), 256.0 / std::sqrt((1.0 + 65536.0) / 2.0), 0.004);
}

TEST(Layers, layerNormCentresAndScales) {
    const LayerNorm norm{tensor({1.0F, 3.0F}, {2}), tensor({0.5F, -0.5F}, {2}), 0.0};
    const at::Tensor y = norm(tensor({2.0F, 6.0F}, {1, 2}));
    EXPECT_NEAR(at0(y, 0), -1.0 + 0.5, 1e-5);
    EXPECT_NEAR(at0(y, 1), 3.0 - 0.5, 1e-5);
}

TEST(Layers, linearAddsItsBiasOnlyIfThereIsOne) {
    const at::Tensor weight = tensor({1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}, {3, 2});
    const at::Tensor x = tensor({1.0F, -1.0F}, {1, 2});
    EXPECT_FLOAT_EQ(at0(Linear{weight, {}}(x), 2), -1.0F);
    EXPECT_FLOAT_EQ(at0(Linear{weight, tensor({10.0F, 20.0F, 30.0F}, {3})}(x), 2), 29.0F);
}

/// Definitions at x = 1 and x = -2, worked out in double precision.
TEST(Layers, activationsMatchTheirDefinitions) {
    const at::Tensor x = tensor({1.0F, -2.0F}, {2});
    const auto check = [&](Activation activation, auto definition) {
        const at::Tensor y = activate(activation, x);
        EXPECT_NEAR(at0(y, 0), definition(1.0), 1e-6);
        EXPECT_NEAR(at0(y, 1), definition(-2.0), 1e-6);
    };
    const double pi = std::acos(-1.0);
    check(Activation::Silu, [](double v) { return v / (1.0 + std::exp(-v)); });
    check(Activation::QuickGelu, [](double v) { return v / (1.0 + std::exp(-1.702 * v)); });
    check(Activation::Gelu,
          [](double v) { return 0.5 * v * (1.0 + std::erf(v / std::sqrt(2.0))); });
    check(Activation::GeluTanh, [&](double v) {
        return 0.5 * v * (1.0 + std::tanh(std::sqrt(2.0 / pi) * (v + 0.044715 * v * v * v)));
    });
    check(Activation::Relu, [](double v) { return std::max(v, 0.0); });
}

} // namespace
} // namespace ecokv::model
