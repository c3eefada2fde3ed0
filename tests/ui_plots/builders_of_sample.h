#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The sample trace as figures take it. One test, one folder.

#include "support/sample_trace.h"
#include "ui/plots/figure_builders.h"

#include <gtest/gtest.h>

#include <vector>

namespace ecokv::ui {

class BuildersOfSample : public testing::Test {
protected:
    SurvivalInput input(const analysis::SurvivalQuery& query) const {
        return {m_document, query, analysis::survival(*m_document, query)};
    }
    /// Cells of a CSV text without its provenance and header lines.
    static std::vector<QStringList> rowsOf(const QString& csv) {
        std::vector<QStringList> rows;
        for (const QString& line : csv.split(QLatin1Char('\n'), Qt::SkipEmptyParts).mid(2)) {
            rows.push_back(line.split(QLatin1Char(',')));
        }
        return rows;
    }

    ecokv::test::TemporaryFolder m_folder;
    DocumentPtr m_document =
        analysis::openTrace(ecokv::test::writeSampleTrace(m_folder / "a.ecokv.h5"));
};

} // namespace ecokv::ui
