// SPDX-License-Identifier: GPL-3.0-or-later
// One row through a linear layer against sums in fp64.
#include "kernels/host_tensor.h"
#include "kernels/instruction_sets.h"
#include "kernels/matrix_vector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace ecokv::kernels {

namespace {

using test::HostTensor;

/// One matrix, its operands and the result, all of one dtype.
struct Layer {
    HostTensor weight, row, bias, out;
    std::int64_t rows, dim;

    Layer(DType dtype, std::int64_t outputs, std::int64_t inputs, std::int64_t gap = 0)
        : weight(dtype, 1, outputs, inputs, gap), row(dtype, 1, 1, inputs),
          bias(dtype, 1, 1, outputs), out(dtype, 1, 1, outputs), rows(outputs), dim(inputs) {
        weight.fillNormal(1);
        row.fillNormal(2);
        bias.fillNormal(3);
    }
    static TensorView vector(const HostTensor& tensor) { return tensor.view()[0][0]; }
    Status run(bool biased) {
        return matrixVector({weight.view()[0], vector(row), biased ? vector(bias) : TensorView{}},
                            vector(out));
    }
};

/// Half a unit in the last place of the dtype, plus what `dim` f32 additions lose: their errors
/// add up like a random walk. `magnitude` is the sum of the terms' absolute values.
double tolerance(DType dtype, double value, double magnitude, std::int64_t dim) {
    const double unit = dtype == DType::F32 ? 0x1p-24 : 0x1p-8;
    return std::abs(value) * unit + magnitude * std::sqrt(static_cast<double>(dim)) * 0x1p-24;
}

void expectSums(const Layer& layer, DType dtype, bool biased) {
    for (std::int64_t o = 0; o < layer.rows; ++o) {
        double sum = biased ? layer.bias.get(0, 0, o) : 0.0;
        double magnitude = std::abs(sum);
        for (std::int64_t i = 0; i < layer.dim; ++i) {
            const double term = double{layer.weight.get(0, o, i)} * layer.row.get(0, 0, i);
            sum += term;
            magnitude += std::abs(term);
        }
        ASSERT_NEAR(layer.out.get(0, 0, o), sum, tolerance(dtype, sum, magnitude, layer.dim))
            << dtypeName(dtype) << " output " << o << " of " << layer.rows << ", dim " << layer.dim;
    }
}

} // namespace

TEST(MatrixVector, sumsEveryRowInEveryDTypeAndInstructionSet) {
    test::forEachInstructionSet([](const char* instructionSet) {
        SCOPED_TRACE(instructionSet);
        for (const DType dtype : {DType::F32, DType::BF16}) {
            for (const auto& [outputs, inputs] : std::vector<std::pair<int, int>>{
                     {1, 1}, {3, 7}, {4, 32}, {33, 64}, {70, 100}, {5, 577}, {257, 2048}}) {
                for (const std::int64_t gap : {0, 8}) {
                    Layer layer(dtype, outputs, inputs, gap);
                    ASSERT_EQ(layer.run(gap > 0), Status::Ok);
                    expectSums(layer, dtype, gap > 0);
                }
            }
        }
    });
}

TEST(MatrixVector, roundsToTheNearestEvenNumber) {
    // 1 + 2^-8 lies half way between two bf16 numbers: 1 is the even one; a bias of 2^-9 tips it.
    Layer layer(DType::BF16, 2, 2);
    layer.weight.setRow(0, 0, {1.0F, 0x1p-8F});
    layer.weight.setRow(0, 1, {1.0F, 0x1p-8F});
    layer.row.setRow(0, 0, {1.0F, 1.0F});
    layer.bias.setRow(0, 0, {0.0F, 0x1p-9F});
    ASSERT_EQ(layer.run(true), Status::Ok);
    EXPECT_EQ(layer.out.get(0, 0, 0), 1.0F);
    EXPECT_EQ(layer.out.get(0, 0, 1), 1.0F + 0x1p-7F);
}

TEST(MatrixVector, letsNaNAndInfinityThrough) {
    test::forEachInstructionSet([](const char* instructionSet) {
        SCOPED_TRACE(instructionSet);
        for (const DType dtype : {DType::F32, DType::BF16}) {
            Layer layer(dtype, 5, 40);
            layer.weight.set(0, 1, 39, std::numeric_limits<float>::quiet_NaN());
            layer.weight.set(0, 4, 0, std::numeric_limits<float>::infinity());
            ASSERT_EQ(layer.run(false), Status::Ok);
            EXPECT_TRUE(std::isfinite(layer.out.get(0, 0, 0)));
            EXPECT_TRUE(std::isnan(layer.out.get(0, 0, 1)));
            EXPECT_TRUE(std::isinf(layer.out.get(0, 0, 4)));
        }
    });
}

TEST(MatrixVector, givesTheSameBitsOnAnyNumberOfThreads) {
#ifndef _OPENMP
    GTEST_SKIP() << "built without OpenMP: there is one thread";
#else
    Layer layer(DType::BF16, 1003, 515);
    const auto bits = [&](int threads) {
        omp_set_num_threads(threads);
        EXPECT_EQ(layer.run(true), Status::Ok);
        std::vector<float> values;
        for (std::int64_t o = 0; o < layer.rows; ++o) {
            values.push_back(layer.out.get(0, 0, o));
        }
        return values;
    };
    const std::vector<float> one = bits(1);
    EXPECT_EQ(bits(2), one);
    EXPECT_EQ(bits(5), one);
#endif
}

TEST(MatrixVector, refusesOperandsThatDoNotFit) {
    Layer layer(DType::F32, 4, 8);
    const TensorView weight = layer.weight.view()[0];
    const TensorView row = Layer::vector(layer.row);
    const TensorView out = Layer::vector(layer.out);
    EXPECT_EQ(matrixVector({weight, out, {}}, out), Status::BadShape);
    EXPECT_EQ(matrixVector({weight, row, {}}, row), Status::BadShape);
    EXPECT_EQ(matrixVector({weight, row, row}, out), Status::BadShape);
    EXPECT_EQ(matrixVector({row, row, {}}, out), Status::BadShape);
    TensorView halves = row;
    halves.dtype = DType::BF16;
    EXPECT_EQ(matrixVector({weight, halves, {}}, out), Status::UnsupportedDType);
    Layer f16(DType::F16, 4, 8);
    EXPECT_EQ(f16.run(false), Status::UnsupportedDType);
    TensorView elsewhere = row;
    elsewhere.device = {DeviceKind::Cuda, 0};
    EXPECT_EQ(matrixVector({weight, elsewhere, {}}, out), Status::DeviceMismatch);
}

} // namespace ecokv::kernels
