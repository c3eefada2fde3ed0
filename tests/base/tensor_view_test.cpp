// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "base/tensor_view.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace ecokv {

TEST(TensorView, sliceAndIndexPointAtTheRightElement) {
    std::vector<float> data(2 * 3 * 4);
    std::iota(data.begin(), data.end(), 0.0F);
    const auto view = TensorView::contiguous(data.data(), DType::F32, {2, 3, 4});
    const auto rows = view[1].slice(0, 1, 3);
    EXPECT_EQ(rows.rank, 2U);
    EXPECT_EQ(rows.shape[0], 2);
    EXPECT_EQ(rows.as<float>()[0], 16.0F); // [1][1][0]
    EXPECT_TRUE(rows.isContiguous());
    EXPECT_FALSE(view.slice(1, 0, 2).isContiguous());
    EXPECT_EQ(view.numel(), 24);
}

TEST(TensorView, refusesIndicesOutsideItsShapeAndSaysWhich) {
    float value = 0;
    const auto view = TensorView::contiguous(&value, DType::F32, {1});
    try {
        view[1];
        FAIL() << "index 1 of one element was accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Internal);
        EXPECT_NE(error.message().find("Index 1"), std::string::npos) << error.message();
        EXPECT_NE(error.message().find("float32 [1] on cpu"), std::string::npos);
    }
    EXPECT_THROW(view.slice(0, 0, 2), Error);
    EXPECT_THROW(view.slice(0, -1, 1), Error);
}

} // namespace ecokv
