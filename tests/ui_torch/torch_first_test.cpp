// SPDX-License-Identifier: GPL-3.0-or-later
// The order of the headers is what is tested.
// clang-format off
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
