// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/compact_rows.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <numeric>
#include <vector>

namespace ecokv::kernels {

namespace {

class CompactRows : public testing::TestWithParam<Backend> {};

/// rows x dim numbers, row r holds 100 r, 100 r + 1, ..; rows lie `stride` apart.
std::vector<std::int32_t> numbered(std::int64_t rows, std::int64_t dim, std::int64_t stride) {
    std::vector<std::int32_t> data(static_cast<std::size_t>(rows * stride), -1);
    for (std::int64_t row = 0; row < rows; ++row) {
        std::iota(data.begin() + row * stride, data.begin() + row * stride + dim,
                  static_cast<std::int32_t>(100 * row));
    }
    return data;
}

} // namespace

TEST_P(CompactRows, keptRowsMoveUpAndGapsStay) {
    std::vector<std::int32_t> data = numbered(6, 3, 5);
    auto view = TensorView::contiguous(data.data(), DType::I32, {6, 3});
    view.strides[0] = 5;
    const std::vector<std::int32_t> kept{0, 2, 3, 5};
    ASSERT_EQ(compactRows(view, kept.data(), 4, GetParam()), Status::Ok);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        for (std::int32_t column = 0; column < 5; ++column) {
            const std::int32_t wanted = column < 3 ? 100 * kept[i] + column : -1;
            EXPECT_EQ(data[5 * i + static_cast<std::size_t>(column)], wanted);
        }
    }
}

TEST_P(CompactRows, everyDtypeMovesWholeRows) {
    std::vector<std::uint16_t> data{1, 2, 3, 4, 5, 6};
    const auto view = TensorView::contiguous(data.data(), DType::BF16, {3, 2});
    const std::int32_t kept = 2;
    ASSERT_EQ(compactRows(view, &kept, 1, GetParam()), Status::Ok);
    EXPECT_EQ(data, (std::vector<std::uint16_t>{5, 6, 3, 4, 5, 6}));
}

TEST_P(CompactRows, refusesRowsThatAreNotStrictlyAscendingOrOutside) {
    std::vector<float> data(8);
    const auto view = TensorView::contiguous(data.data(), DType::F32, {4, 2});
    for (const std::vector<std::int32_t>& kept :
         {std::vector<std::int32_t>{1, 1}, {2, 1}, {-1, 0}, {3, 4}}) {
        EXPECT_EQ(compactRows(view, kept.data(), 2, GetParam()), Status::BadShape);
    }
    EXPECT_EQ(compactRows(view, nullptr, 0, GetParam()), Status::Ok);
}

TEST_P(CompactRows, agreesWithCopyingRowByRow) {
    const bool holds = rc::check([] {
        const auto rows = *rc::gen::inRange<std::int64_t>(1, 60);
        const auto dim = *rc::gen::inRange<std::int64_t>(1, 9);
        const auto gap = *rc::gen::inRange<std::int64_t>(0, 3);
        std::vector<std::int32_t> kept;
        const auto stays = *rc::gen::container<std::vector<bool>>(static_cast<std::size_t>(rows),
                                                                  rc::gen::arbitrary<bool>());
        for (std::int64_t row = 0; row < rows; ++row) {
            if (stays[static_cast<std::size_t>(row)]) {
                kept.push_back(static_cast<std::int32_t>(row));
            }
        }
        std::vector<std::int32_t> data = numbered(rows, dim, dim + gap);
        auto view = TensorView::contiguous(data.data(), DType::I32, {rows, dim});
        view.strides[0] = dim + gap;
        RC_ASSERT(compactRows(view, kept.data(), static_cast<std::int64_t>(kept.size()),
                              Backend::Cpu) == Status::Ok);
        for (std::size_t i = 0; i < kept.size(); ++i) {
            for (std::int64_t column = 0; column < dim; ++column) {
                RC_ASSERT(data[i * static_cast<std::size_t>(dim + gap) +
                               static_cast<std::size_t>(column)] ==
                          100 * kept[i] + static_cast<std::int32_t>(column));
            }
        }
    });
    EXPECT_TRUE(holds);
}

INSTANTIATE_TEST_SUITE_P(Host, CompactRows, testing::Values(Backend::Reference, Backend::Cpu),
                         [](const auto& info) {
                             return info.param == Backend::Cpu ? "cpu" : "reference";
                         });

} // namespace ecokv::kernels
