#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What the Run page says about a run, from a fresh result or from an opened trace. Values and pure
// functions.

#include "analysis/cache_length.h"
#include "analysis/trace_document.h"
#include "session/run_result.h"

#include <QString>
#include <QStringList>

#include <optional>
#include <utility>
#include <vector>

namespace ecokv::ui {

using Facts = std::vector<std::pair<QString, QString>>; ///< label, value with unit

struct RunSummary {
    QString policyTitle;                             ///< "ecokv, budget 48"
    std::optional<QString> policyAnswer, fullAnswer; ///< nothing: not recorded
    std::int64_t promptTokens = 0, imageTokens = 0;
    session::Ledger ledger;
    QString decoding; ///< "While answering: prefill-only eviction, ..."; "" = not known
    Facts facts;      ///< timings, device, ...; in display order
    QStringList notes;
};

RunSummary summariseRun(const session::RunResult& result);
/// `policy` null: the trace holds none.
RunSummary summariseTrace(const analysis::TraceDocument& document,
                          const analysis::PolicyView* policy);

/// One line about the cache while it answers (field case F030); "" where nothing is known.
/// `decodeEviction` as the run names it: "prefill-only", "every 16 tokens to 64".
QString decodingLine(const std::string& decodeEviction, const analysis::CacheLengths& lengths);

/// The parts of a ledger people compare, of the layers that count (LayerKinds), with NaN where a
/// number is unknown.
struct LedgerFigures {
    double meanKept = 0;               ///< tokens per KV head
    std::int64_t fewest = 0, most = 0; ///< tokens kept by one head
    double keptShare = 0;              ///< of the prompt, 0..1
    double savedShare = 0;             ///< of the full cache's bytes, 0..1
};
LedgerFigures ledgerFigures(const session::Ledger& ledger);

/// An attribute as text, "" if it is absent.
QString attributeText(const trace::Attributes& attributes, const std::string& name);

} // namespace ecokv::ui
