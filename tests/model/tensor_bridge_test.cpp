// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/tensor_bridge.h"

#include "base/error.h"

#include <gtest/gtest.h>

namespace ecokv::model {
namespace {

TEST(TensorBridge, viewKeepsPointerShapeAndStridesOfATransposedTensor) {
    const at::Tensor t = at::zeros({5, 2, 3}, at::TensorOptions(c10::kBFloat16)).transpose(0, 1);
    const TensorView view = viewOf(t);
    EXPECT_EQ(view.data, t.data_ptr());
    EXPECT_EQ(view.describe(), "bfloat16 [2, 5, 3] on cpu");
    EXPECT_EQ(view.strides[0], 3);
    EXPECT_EQ(view.strides[1], 6);
    EXPECT_EQ(view.strides[2], 1);
}

TEST(TensorBridge, tensorSharesTheMemoryOfAStridedView) {
    std::vector<float> memory{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const TensorView view =
        TensorView::contiguous(memory.data(), DType::F32, {3, 4}).slice(1, 1, 3);
    const at::Tensor t = tensorOf(view);
    ASSERT_EQ(t.sizes(), (at::IntArrayRef{3, 2}));
    EXPECT_EQ(t.select(0, 2).select(0, 1).item<float>(), 10.0F);
    t.select(0, 0).select(0, 0).fill_(-1.0);
    EXPECT_EQ(memory[1], -1.0F);
}

TEST(TensorBridge, everyDTypeComesBackUnchanged) {
    for (const DType dtype :
         {DType::F32, DType::BF16, DType::F16, DType::I64, DType::I32, DType::U8}) {
        EXPECT_EQ(fromTorch(toTorch(dtype)), dtype);
    }
    EXPECT_THROW(fromTorch(c10::kDouble), Error);
    EXPECT_EQ(fromTorch(toTorch(Device{DeviceKind::Cuda, 3})), (Device{DeviceKind::Cuda, 3}));
}

} // namespace
} // namespace ecokv::model
