// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample_document.h"
#include "ui/models/cache_length_model.h"
#include "ui/models/dataset_model.h"
#include "ui/models/formatting.h"
#include "ui/models/head_table_model.h"
#include "ui/models/ledger_model.h"
#include "ui/models/picture_list_model.h"
#include "ui/models/run_summary.h"
#include "ui/models/token_table_model.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QElapsedTimer>
#include <QSignalSpy>

#include <cmath>
#include <limits>

namespace ecokv::ui {

using Tester = QAbstractItemModelTester;
constexpr auto kFatal = Tester::FailureReportingMode::Fatal;

TEST(HeadTableModel, hasOneRowPerLayerAndHead) {
    HeadTableModel model;
    const Tester tester(&model, kFatal);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    model.setColumns(2, 3, {{u"Redundancy"_qs, u"why"_qs, {0.F, .1F, .2F, .3F, nan, .5F}}});
    ASSERT_EQ(model.rowCount(), 6);
    ASSERT_EQ(model.columnCount(), 3);
    EXPECT_EQ(model.layerOf(4), 1);
    EXPECT_EQ(model.kvHeadOf(4), 1);
    EXPECT_EQ(model.rowOf(1, 1), 4);
    EXPECT_EQ(model.index(3, 2).data().toString(), u"0.3"_qs);
    EXPECT_EQ(model.index(4, 2).data().toString(), u"–"_qs);
    EXPECT_FLOAT_EQ(model.index(5, 2).data(Qt::UserRole).toFloat(), 0.5F);
    EXPECT_EQ(model.headerData(2, Qt::Horizontal, Qt::ToolTipRole).toString(), u"why"_qs);
    model.setColumns(0, 0, {});
    EXPECT_EQ(model.rowCount(), 0);
}

TEST(TokenTableModel, fillsColumnsAsDataArrive) {
    TokenTableModel model;
    const Tester tester(&model, kFatal);
    model.setDocument(test::sampleDocument());
    ASSERT_EQ(model.rowCount(), 30);
    EXPECT_EQ(model.index(8, TokenTableModel::Kind).data().toString(), u"image"_qs);
    EXPECT_EQ(model.index(8, TokenTableModel::Survives).data().toString(), u"–"_qs);

    auto scatter = std::make_shared<analysis::HeadScatter>();
    scatter->points = {{8, 0.25F, 0.5F, 0.75F, 2, true}};
    model.setScatter(scatter);
    EXPECT_EQ(model.index(8, TokenTableModel::Importance).data().toString(), u"0.25"_qs);
    EXPECT_EQ(model.index(8, TokenTableModel::Survives).data().toString(), u"kept"_qs);
    EXPECT_EQ(model.index(29, TokenTableModel::Survives).data().toString(), u"protected"_qs);

    auto survival = std::make_shared<analysis::SurvivalResult>();
    survival->heads = 4;
    survival->share.assign(30, 0.F);
    survival->share[8] = 0.75F;
    model.setSurvival(survival);
    EXPECT_EQ(model.index(8, TokenTableModel::Survives).data().toString(), u"in 75 % of heads"_qs);
    EXPECT_EQ(model.index(9, TokenTableModel::Survives).data().toString(), u"evicted"_qs);
}

TEST(TokenTableModel, layersWithoutACacheSurviveNothingAndEvictNothing) {
    auto document = std::make_shared<analysis::TraceDocument>(*test::sampleDocument());
    document->model->linearLayers = {0, 0, 1, 0};
    TokenTableModel model;
    model.setDocument(document);
    auto scatter = std::make_shared<analysis::HeadScatter>();
    scatter->layer = 2;
    model.setScatter(scatter);
    const QModelIndex cell = model.index(7, TokenTableModel::Survives);
    EXPECT_EQ(cell.data().toString(), u"no KV cache"_qs);
    model.setScatter(nullptr);
    model.setSurvival(std::make_shared<const analysis::SurvivalResult>(
        analysis::survival(*document, {"0", analysis::SurvivalMode::Head, 2, 0})));
    EXPECT_EQ(cell.data().toString(), u"no KV cache"_qs);
    EXPECT_TRUE(std::isnan(cell.data(Qt::UserRole).toDouble()));
}

TEST(TokenTableModel, opensAMillionTokensAtOnceF153) {
    auto document = std::make_shared<analysis::TraceDocument>();
    document->dimensions.tokens = 1'000'000;
    TokenTableModel model;
    QElapsedTimer timer;
    timer.start();
    model.setDocument(document);
    EXPECT_EQ(model.rowCount(), 1'000'000);
    EXPECT_EQ(model.index(999'999, TokenTableModel::Token).data().toInt(), 999'999);
    EXPECT_LT(timer.elapsed(), 1000);
}

TEST(LedgerModel, addsUpLayers) {
    LedgerModel model;
    const Tester tester(&model, kFatal);
    session::Ledger ledger;
    ledger.keptTokens = {{4, 8}, {6, 5}};
    model.setLedger(ledger);
    ASSERT_EQ(model.rowCount(), 2);
    ASSERT_EQ(model.columnCount(), 3);
    EXPECT_EQ(model.index(1, 1).data().toInt(), 5);
    EXPECT_EQ(model.index(1, 2).data().toInt(), 11);
    EXPECT_EQ(model.headerData(2, Qt::Horizontal, Qt::DisplayRole).toString(), u"Layer total"_qs);
    model.setLedger({});
    EXPECT_EQ(model.columnCount(), 0);
}

TEST(LedgerModel, marksSlidingLayersAsNotEvicted) { // field case F034
    LedgerModel model;
    const Tester tester(&model, kFatal);
    session::Ledger ledger;
    ledger.keptTokens = {{4, 8}, {20, 20}};
    ledger.slidingWindows = {0, 64};
    model.setLedger(ledger);
    EXPECT_EQ(model.headerData(0, Qt::Vertical, Qt::DisplayRole).toString(), u"Layer 0"_qs);
    EXPECT_FALSE(model.headerData(0, Qt::Vertical, Qt::ToolTipRole).isValid());
    EXPECT_EQ(model.headerData(1, Qt::Vertical, Qt::DisplayRole).toString(),
              u"Layer 1 · sliding, not evicted"_qs);
    EXPECT_TRUE(model.headerData(1, Qt::Vertical, Qt::ToolTipRole).toString().contains(u"64"_qs));
}

TEST(LedgerModel, marksLayersWithoutACache) {
    LedgerModel model;
    session::Ledger ledger;
    ledger.keptTokens = {{4, 8}, {0, 0}};
    ledger.linearLayers = {0, 1};
    model.setLedger(ledger);
    EXPECT_EQ(model.headerData(1, Qt::Vertical, Qt::DisplayRole).toString(),
              u"Layer 1 · no KV cache"_qs);
    EXPECT_TRUE(
        model.headerData(1, Qt::Vertical, Qt::ToolTipRole).toString().contains(u"linear"_qs));
    EXPECT_EQ(model.index(1, 0).data().toString(), u"–"_qs); // no head keeps 0 of anything
    EXPECT_EQ(model.index(1, 2).data().toString(), u"–"_qs);
    EXPECT_EQ(model.index(0, 2).data().toInt(), 12);
    EXPECT_EQ(ledgerFigures(ledger).meanKept, 6);
    EXPECT_EQ(ledgerFigures(ledger).fewest, 4);
}

TEST(CacheLengthModel, hasOneRowPerStep) { // the table twin of the figure, field case F030
    CacheLengthModel model;
    const Tester tester(&model, kFatal);
    analysis::CacheLengths lengths;
    lengths.mean = {9.5, 10.5};
    lengths.longest = {20, 21};
    model.setLengths(lengths, {"4", " 7"});
    ASSERT_EQ(model.rowCount(), 2);
    EXPECT_EQ(model.index(1, CacheLengthModel::Step).data().toInt(), 1);
    EXPECT_EQ(model.index(1, CacheLengthModel::Text).data().toString(), formatToken(" 7"));
    EXPECT_EQ(model.index(1, CacheLengthModel::Mean).data().toString(), u"10.5"_qs);
    EXPECT_EQ(model.index(1, CacheLengthModel::Longest).data().toInt(), 21);
    model.setLengths(lengths, {}); // texts may be missing
    EXPECT_EQ(model.index(0, CacheLengthModel::Text).data().toString(), QString());
    model.setLengths({}, {});
    EXPECT_EQ(model.rowCount(), 0);
}

TEST(PictureListModel, keepsOrderAndAsksForThumbnails) {
    PictureListModel model;
    const Tester tester(&model, kFatal);
    const QSignalSpy wanted(&model, &PictureListModel::thumbnailWanted);
    model.append(u"/a/one.png"_qs);
    model.append(u"/a/two.png"_qs);
    EXPECT_EQ(wanted.count(), 2);
    EXPECT_EQ(model.paths(), (QStringList{u"/a/one.png"_qs, u"/a/two.png"_qs}));
    EXPECT_EQ(model.index(1).data().toString(), u"two.png"_qs);
    model.remove(0);
    model.remove(7); // nothing there
    EXPECT_EQ(model.paths(), QStringList{u"/a/two.png"_qs});
}

TEST(PictureListModel, saysSizeOrThatAPictureCannotBeShown) {
    PictureListModel model;
    model.setPaths({u"/a/good.png"_qs, u"/a/bad.png"_qs});
    model.setThumbnail(u"/a/good.png"_qs, QImage(4, 3, QImage::Format_RGB32), {40, 30});
    model.setThumbnail(u"/a/bad.png"_qs, {}, {});
    EXPECT_TRUE(model.index(0).data(Qt::ToolTipRole).toString().contains(u"40 × 30 pixels"_qs));
    EXPECT_TRUE(model.index(1).data(Qt::ToolTipRole).toString().contains(u"cannot be shown"_qs));
    EXPECT_FALSE(model.index(1).data(Qt::DecorationRole).isValid());
}

TEST(DatasetModel, showsGroupsAsATree) {
    DatasetModel model;
    const Tester tester(&model, kFatal);
    auto document = std::make_shared<analysis::TraceDocument>();
    trace::DatasetEntry kept;
    kept.path = "/policies/0/kept";
    kept.shape = {4, 2, 30};
    kept.dtype = "uint8";
    kept.storedBytes = 240;
    trace::DatasetEntry broken;
    broken.path = "/tensors/keys";
    broken.problem = "filter 32001 is missing";
    document->entries = {kept, broken};
    model.setDocument(document);
    ASSERT_EQ(model.rowCount(), 2);
    const QModelIndex policy = model.index(0, 0, model.index(0, 0));
    EXPECT_EQ(policy.data().toString(), u"0"_qs);
    EXPECT_EQ(model.index(0, DatasetModel::Shape, policy).data().toString(), u"[4, 2, 30]"_qs);
    EXPECT_EQ(model.index(0, DatasetModel::Stored, policy).data().toString(), u"240 B"_qs);
    const QModelIndex tensors = model.index(1, 0);
    EXPECT_EQ(model.index(0, DatasetModel::Description, tensors).data().toString(),
              u"Unreadable: filter 32001 is missing"_qs);
    model.setDocument(nullptr);
    EXPECT_EQ(model.rowCount(), 0);
}

} // namespace ecokv::ui
