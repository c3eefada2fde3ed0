// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/query_window.h"

#include "base/error.h"

#include <gtest/gtest.h>

#include <numeric>

namespace ecokv::session {

namespace {

constexpr std::int64_t kHeads = 2, kDim = 3;

/// queries[head, row, dim] = 100 position + 10 head + dim for positions first, first + 1, ...
std::vector<float> numbered(std::int64_t first, std::int64_t rows) {
    std::vector<float> data;
    for (std::int64_t head = 0; head < kHeads; ++head) {
        for (std::int64_t row = 0; row < rows; ++row) {
            for (std::int64_t dim = 0; dim < kDim; ++dim) {
                data.push_back(static_cast<float>(100 * (first + row) + 10 * head + dim));
            }
        }
    }
    return data;
}

void appendRows(QueryWindow& window, std::int64_t first, std::int64_t rows) {
    std::vector<float> data = numbered(first, rows);
    std::vector<std::int64_t> positions(static_cast<std::size_t>(rows));
    std::iota(positions.begin(), positions.end(), first);
    window.append(TensorView::contiguous(data.data(), DType::F32, {kHeads, rows, kDim}), positions);
}

void expectRows(const QueryWindow& window, std::int64_t first, std::int64_t rows) {
    ASSERT_EQ(window.rows(), rows);
    const TensorView view = window.queries();
    ASSERT_EQ(view.shape[0], kHeads);
    ASSERT_EQ(view.shape[1], rows);
    for (std::int64_t row = 0; row < rows; ++row) {
        EXPECT_EQ(window.positions()[static_cast<std::size_t>(row)], first + row);
        for (std::int64_t head = 0; head < kHeads; ++head) {
            const TensorView one = view[head][row];
            EXPECT_EQ(one.as<float>()[2], static_cast<float>(100 * (first + row) + 10 * head + 2));
        }
    }
}

} // namespace

TEST(QueryWindow, keepsTheLastRowsOfALongPrompt) {
    QueryWindow window(4);
    EXPECT_EQ(window.rows(), 0);
    appendRows(window, 0, 10);
    expectRows(window, 6, 4);
}

TEST(QueryWindow, slidesOverManySingleRows) {
    QueryWindow window(3);
    for (std::int64_t position = 0; position < 20; ++position) {
        appendRows(window, position, 1);
        const std::int64_t rows = std::min<std::int64_t>(position + 1, 3);
        expectRows(window, position + 1 - rows, rows);
    }
    appendRows(window, 20, 2); // a question of two tokens
    expectRows(window, 19, 3);
}

TEST(QueryWindow, aCopyGoesOnAlone) {
    QueryWindow window(4);
    appendRows(window, 0, 6);
    QueryWindow copy = window.copy(2);
    expectRows(copy, 4, 2);
    appendRows(copy, 6, 1);
    expectRows(copy, 5, 2);
    expectRows(window, 2, 4);
    EXPECT_EQ(QueryWindow(3).copy(3).rows(), 0);
}

TEST(QueryWindow, rowsOfAnotherShapeAreABug) {
    QueryWindow window(4);
    appendRows(window, 0, 1);
    std::vector<float> data(3 * kDim);
    const std::vector<std::int64_t> positions{1};
    EXPECT_THROW(
        window.append(TensorView::contiguous(data.data(), DType::F32, {3, 1, kDim}), positions),
        Error);
    EXPECT_THROW(
        window.append(TensorView::contiguous(data.data(), DType::F32, {1, 3, kDim}), positions),
        Error);
}

} // namespace ecokv::session
