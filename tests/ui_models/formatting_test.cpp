// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/formatting.h"
#include "ui/models/paths.h"

#include <gtest/gtest.h>

#include <QLocale>

#include <cmath>

namespace ecokv::ui {

TEST(Formatting, numbersHaveFourDigitsAndNanIsADash) {
    EXPECT_EQ(formatNumber(0.123456), u"0.1235"_qs);
    EXPECT_EQ(formatNumber(std::nan("")), u"–"_qs);
}

TEST(Formatting, decimalPointInEveryLocaleF156) {
    QLocale::setDefault(QLocale(QLocale::German));
    EXPECT_EQ(formatNumber(0.25), u"0.25"_qs);
    EXPECT_EQ(formatBytes(1536), u"1.5 KB"_qs);
    QLocale::setDefault(QLocale::c());
}

TEST(Formatting, bytesUseTheDecimalUnitsOfTheCli) {
    EXPECT_EQ(formatBytes(0), u"0 B"_qs);
    EXPECT_EQ(formatBytes(999), u"999 B"_qs);
    EXPECT_EQ(formatBytes(1000), u"1.0 KB"_qs);
    EXPECT_EQ(formatBytes(1024), u"1.0 KB"_qs);
    EXPECT_EQ(formatBytes(8'192'000), u"8.2 MB"_qs); // as in tests/cli/run_report_test.cpp
    EXPECT_EQ(formatBytes(std::uint64_t{500} << 30), u"536.9 GB"_qs); // 500 * 2^30 / 1e9
    EXPECT_EQ(formatBytes(2'500'000'000'000'000), u"2500.0 TB"_qs);
}

TEST(Formatting, sharesAndSeconds) {
    EXPECT_EQ(formatShare(0.173), u"17 %"_qs);
    EXPECT_EQ(formatShare(0.012), u"1.2 %"_qs);
    EXPECT_EQ(formatShare(0.0), u"0 %"_qs);
    EXPECT_EQ(formatSeconds(0.0032), u"3.2 ms"_qs);
    EXPECT_EQ(formatSeconds(0.414), u"0.41 s"_qs);
    EXPECT_EQ(formatSeconds(12.4), u"12 s"_qs);
    EXPECT_EQ(formatSeconds(185.0), u"3 min 05 s"_qs);
}

TEST(Formatting, countsAreShortened) {
    EXPECT_EQ(formatCount(269), u"269"_qs);
    EXPECT_EQ(formatCount(1'900'000), u"1.9 M"_qs);
}

TEST(Formatting, tokensShowBlanksAndRawBytes) {
    EXPECT_EQ(formatToken(" a\n"), QString::fromUtf8("␣a↵"));
    EXPECT_EQ(formatToken("\xF0\x9F"), u"\\xf0\\x9f"_qs); // half an emoji (field case F118)
    EXPECT_EQ(formatToken("é"), QString::fromUtf8("é"));
}

TEST(Paths, surviveNonEnglishNamesF128) {
    const QString name = QString::fromUtf8("/tmp/测试 é/ü.h5");
    EXPECT_EQ(fromPath(toPath(name)), name);
    EXPECT_EQ(toPath(name).string(), "/tmp/测试 é/ü.h5");
}

TEST(Paths, kindFollowsTheName) {
    EXPECT_EQ(guessPathKind(u"/a/run.ecokv.h5"_qs), PathKind::Trace);
    EXPECT_EQ(guessPathKind(u"/a/run.ecokv.h5.part"_qs), PathKind::Trace);
    EXPECT_EQ(guessPathKind(u"/a/Photo.JPG"_qs), PathKind::Picture);
    EXPECT_EQ(guessPathKind(u"/models/llava-1.5-7b"_qs), PathKind::Model);
}

} // namespace ecokv::ui
