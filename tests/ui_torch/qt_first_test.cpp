// SPDX-License-Identifier: GPL-3.0-or-later
// The order of the headers is what is tested.
// clang-format off
#include <QObject>
#include <QString>
#include <QWidget>
#include <ATen/ATen.h>
// clang-format on

#include <gtest/gtest.h>

TEST(HeadersTogether, qtBeforeTorchCompilesF159) {
    const at::Tensor ones = at::ones({2, 3});
    EXPECT_EQ(QString::number(ones.sum().item<float>()), QStringLiteral("6"));
}
