// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/csv_file.h"

#include "base/error.h"

#include <gtest/gtest.h>

namespace ecokv::cli {

TEST(CsvFile, tablesOnlyAreReplaced) {
    EXPECT_NO_THROW(checkCsvPath("table.csv"));
    EXPECT_THROW(checkCsvPath("model.safetensors"), Error);
    EXPECT_THROW(checkCsvPath("no/such/folder/table.csv"), Error);
    EXPECT_THROW(checkCsvPath("/"), Error);
}

TEST(CsvFile, aTableThatCannotBeWrittenIsSaid) {
    EXPECT_THROW(writeCsv("no/such/folder/table.csv", "a,b\n"), Error);
}

} // namespace ecokv::cli
