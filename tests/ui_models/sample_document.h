#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The shared sample trace opened as a document.

#include "analysis/trace_document.h"
#include "support/sample_trace.h"

namespace ecokv::ui::test {

inline std::shared_ptr<const analysis::TraceDocument> sampleDocument() {
    static const ecokv::test::TemporaryFolder folder;
    static const auto document =
        analysis::openTrace(ecokv::test::writeSampleTrace(folder / "sample.ecokv.h5"));
    return document;
}

} // namespace ecokv::ui::test
