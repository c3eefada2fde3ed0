// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/inspector_rows.h"

#include "sample_document.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QSignalSpy>

#include <limits>

namespace ecokv::ui {

namespace {

QString valueOf(const std::vector<InspectorRow>& rows, const QString& label) {
    for (const InspectorRow& row : rows) {
        if (row.label.trimmed() == label) {
            return row.value;
        }
    }
    return u"(no such row)"_qs;
}

/// Three candidates of which the second scores best.
ScatterPtr threePoints() {
    auto scatter = std::make_shared<analysis::HeadScatter>();
    scatter->points = {{4, 0.1F, 0.2F, 0.30F, 0, false},
                       {5, 0.6F, 0.5F, 0.90F, 2, true},
                       {6, 0.4F, 0.4F, 0.30F, 0, false}};
    return scatter;
}

InspectorInput sampleInput() {
    InspectorInput input;
    input.document = test::sampleDocument();
    input.policy = &input.document->policies.front();
    input.selection = {u"0"_qs, 2, 1};
    input.token = 6;
    input.scatter = threePoints();
    return input;
}

} // namespace

TEST(Inspector, givesTheNumbersOfHeadAndToken) {
    const auto rows = inspectorRows(sampleInput());
    EXPECT_EQ(valueOf(rows, u"Layer"_qs), u"2"_qs);
    EXPECT_EQ(valueOf(rows, u"KV head"_qs), u"1"_qs);
    // 0.1 + 0.2 * 2 + 0.05 * 1
    EXPECT_EQ(valueOf(rows, u"Redundancy"_qs), u"0.55"_qs);
    EXPECT_EQ(valueOf(rows, u"Position"_qs), u"6"_qs);
    EXPECT_EQ(valueOf(rows, u"Importance"_qs), u"0.4"_qs);
    EXPECT_EQ(valueOf(rows, u"In this head"_qs), u"evicted"_qs);
}

TEST(Inspector, tiesRankTheLowerPositionFirst) {
    InspectorInput input = sampleInput();
    EXPECT_EQ(valueOf(inspectorRows(input), u"Rank in head"_qs), u"3 of 3"_qs);
    input.token = 4;
    EXPECT_EQ(valueOf(inspectorRows(input), u"Rank in head"_qs), u"2 of 3"_qs);
    input.token = 5;
    EXPECT_EQ(valueOf(inspectorRows(input), u"Rank in head"_qs), u"1 of 3"_qs);
}

TEST(Inspector, protectedTokensAreKeptWithoutARank) {
    InspectorInput input = sampleInput();
    input.token = 29; // one of the last 4, no candidate
    const auto rows = inspectorRows(input);
    EXPECT_EQ(valueOf(rows, u"In this head"_qs), u"kept (protected)"_qs);
    EXPECT_EQ(valueOf(rows, u"Rank in head"_qs), u"–"_qs);
}

TEST(Inspector, tokensOfLayersThatAreNotEvictedAreNeitherProtectedNorEvicted) {
    InspectorInput input = sampleInput();
    auto document = std::make_shared<analysis::TraceDocument>(*input.document);
    document->model->linearLayers = {0, 0, 1, 0};
    document->model->slidingWindows = {0, 8, 0, 0};
    input.document = document;
    for (const qint64 token : {6, 29}) { // a candidate and a protected one
        input.token = token;
        input.selection.layer = 2;
        EXPECT_EQ(valueOf(inspectorRows(input), u"In this head"_qs), u"no KV cache"_qs);
        input.selection.layer = 1;
        EXPECT_EQ(valueOf(inspectorRows(input), u"In this head"_qs),
                  u"kept (sliding, not evicted)"_qs);
    }
}

TEST(Inspector, rowsStayInPlaceWhateverIsKnown) {
    const auto full = inspectorRows(sampleInput());
    const auto empty = inspectorRows({});
    ASSERT_EQ(full.size(), empty.size());
    for (std::size_t i = 0; i < full.size(); ++i) {
        EXPECT_EQ(full[i].label, empty[i].label);
        EXPECT_EQ(full[i].isSection, empty[i].isSection);
    }
    EXPECT_EQ(valueOf(empty, u"Redundancy"_qs), u"–"_qs);
}

TEST(InspectorModel, changesValuesInPlaceAndResetsForNewLabels) {
    InspectorModel model;
    const QAbstractItemModelTester tester(&model,
                                          QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setRows({{u"Token"_qs, {}, true}, {u"Position"_qs, u"1"_qs}});
    const QSignalSpy resets(&model, &QAbstractItemModel::modelReset);
    const QSignalSpy changes(&model, &QAbstractItemModel::dataChanged);
    model.setRows({{u"Token"_qs, {}, true}, {u"Position"_qs, u"2"_qs}});
    EXPECT_EQ(resets.count(), 0);
    EXPECT_EQ(changes.count(), 1);
    EXPECT_EQ(model.index(1, 1).data().toString(), u"2"_qs);
    model.setRows({{u"Head"_qs, {}, true}});
    EXPECT_EQ(resets.count(), 1);
    EXPECT_EQ(model.rowCount(), 1);
}

TEST(InspectorModel, copiesRowsAsTabbedText) {
    InspectorModel model;
    model.setRows({{u"Token"_qs, {}, true}, {u"Position"_qs, u"1"_qs}});
    EXPECT_EQ(model.asText({0, 1}), u"Token\nPosition\t1\n"_qs);
    EXPECT_FALSE(model.flags(model.index(0, 0)).testFlag(Qt::ItemIsSelectable));
    EXPECT_TRUE(model.flags(model.index(1, 0)).testFlag(Qt::ItemIsSelectable));
}

} // namespace ecokv::ui
