// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/head_table.h"
#include "sentence.h"
#include "table_file.h"

#include <gtest/gtest.h>

namespace ecokv::policy {
namespace {

using test::expectRefusal;
using test::TableFile;

/// A good table with one part replaced.
std::string tableText(const std::string& part = {}, const std::string& by = {}) {
    std::string text = R"({"format":"ecokv-head-table","kind":"redundancy","model":"demo",)"
                       R"("layers":2,"kv_heads":3,"values":[[0,0.5,1],[0.25,0.125,0.75]]})";
    if (!part.empty()) {
        text.replace(text.find(part), part.size(), by);
    }
    return text;
}

TEST(HeadTable, isReadLayerByLayer) {
    const TableFile file(tableText());
    const HeadTable table = readHeadTable(file.path(), HeadTableKind::Redundancy);
    EXPECT_EQ(table.model, "demo");
    EXPECT_EQ(table.layers, 2);
    EXPECT_EQ(table.kvHeads, 3);
    EXPECT_EQ(table.values, (std::vector{0.0, 0.5, 1.0, 0.25, 0.125, 0.75}));
}

TEST(HeadTable, whatIsWrittenIsRead) {
    HeadTable table{HeadTableKind::Weights, "a \"b\"", 2, 2, {1.0 / 3, 2e-300, 7, 0}};
    const TableFile file(headTableJson(table));
    const HeadTable back = readHeadTable(file.path(), HeadTableKind::Weights);
    EXPECT_EQ(back.model, table.model);
    EXPECT_EQ(back.values, table.values);
}

TEST(HeadTable, aLayerWithoutACacheIsNullAndTheModelMustAgree) {
    const TableFile file(tableText("[0,0.5,1]", "null"));
    const HeadTable table = readHeadTable(file.path(), HeadTableKind::Redundancy);
    EXPECT_TRUE(table.isUncached(0));
    EXPECT_FALSE(table.isUncached(1));
    EXPECT_EQ(table.values.back(), 0.75);
    EXPECT_NE(headTableJson(table).find("null"), std::string::npos);
    const TableFile again(headTableJson(table));
    EXPECT_TRUE(readHeadTable(again.path(), HeadTableKind::Redundancy).isUncached(0));
    EXPECT_NO_THROW(checkHeadTable(table, file.path(), {2, 3, "demo", {}, {1, 0}}));
    expectRefusal(ErrorKind::BadInput, {file.path(), "layer 0 is null"}, [&] {
        checkHeadTable(table, file.path(), {2, 3, "demo", {}, {0, 0}});
    });
}

TEST(HeadTable, everyDefectIsNamedWithTheFile) {
    struct Defect {
        const char* part;
        const char* by;
        const char* said;
    };
    for (const Defect& defect : {
             Defect{"ecokv-head-table", "other", "ecokv-head-table"},
             Defect{"\"redundancy\"", "\"weights\"", "its kind is \"weights\""},
             Defect{"\"demo\"", "\"\"", "does not name its model"},
             Defect{"\"demo\"", "7", "does not name its model"},
             Defect{"\"layers\":2", "\"layers\":3", "list of 3 layers"},
             Defect{"\"layers\":2", "\"layers\":-1", "\"layers\" is -1"},
             Defect{"\"kv_heads\":3", "\"kv_heads\":2.5", "\"kv_heads\" is 2.5"},
             Defect{"\"kv_heads\":3", "\"kv_heads\":99999999999999999999", "\"kv_heads\" is"},
             Defect{"[0,0.5,1]", "[0,0.5]", "layer 0 of its values does not hold 3"},
             Defect{"0.125", "null", "layer 1 head 1 is null"},
             Defect{"[0,0.5,1],[0.25,0.125,0.75]", "null,null", "every layer is null"},
             Defect{"0.125", "-0.5", "layer 1 head 1 is -0.5"},
             Defect{"0.125", "1.5", "between 0 and 1"},
             Defect{"0.125", "NaN", "no JSON object"},
             Defect{"}", "", "no JSON object"},
         }) {
        const TableFile file(tableText(defect.part, defect.by));
        expectRefusal(ErrorKind::BadInput, {file.path(), defect.said},
                      [&] { readHeadTable(file.path(), HeadTableKind::Redundancy); });
    }
}

TEST(HeadTable, weightsMayBeLargeButNotAllZeroNorInfinite) {
    const auto weights = [](const std::string& values) {
        return R"({"format":"ecokv-head-table","kind":"weights","model":"m","layers":1,)"
               R"("kv_heads":2,"values":[[)" +
               values + "]]}";
    };
    const TableFile large(weights("1e300,3"));
    EXPECT_EQ(readHeadTable(large.path(), HeadTableKind::Weights).values[0], 1e300);
    const TableFile zero(weights("0,0"));
    expectRefusal(ErrorKind::BadInput, {zero.path(), "every weight is 0"},
                  [&] { readHeadTable(zero.path(), HeadTableKind::Weights); });
    const TableFile infinite(weights("1e999,1"));
    expectRefusal(ErrorKind::BadInput, {infinite.path()},
                  [&] { readHeadTable(infinite.path(), HeadTableKind::Weights); });
}

} // namespace
} // namespace ecokv::policy
