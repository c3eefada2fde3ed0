// SPDX-License-Identifier: GPL-3.0-or-later
// clang-format off: the order is what is tested
#include <ATen/ATen.h>
#include <QObject>
#include <QString>
#include <QWidget>
// clang-format on

#include <gtest/gtest.h>

TEST(HeadersTogether, torchBeforeQtCompilesF159) {
    const at::Tensor range = at::arange(4);
    EXPECT_EQ(QString::number(range.sum().item<int>()), QStringLiteral("6"));
}
