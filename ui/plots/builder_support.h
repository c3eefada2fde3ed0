#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What the figure builders share. Private to ui/plots. Any thread.

#include "ui/plots/figure_builders.h"

#include <QCoreApplication>

namespace ecokv::ui {

/// Where the builders' words are translated.
struct Builders {
    Q_DECLARE_TR_FUNCTIONS(ecokv::ui::Builders)
};

/// Throws Error{Usage} for an unknown policy.
const analysis::PolicyView& policyOf(const analysis::TraceDocument& document,
                                     const std::string& id);
/// The provenance names the policy whose values are drawn.
FigureSource sourceOf(const DocumentPtr& document, const std::string& policyId,
                      std::function<QString()> csv);
/// " · scores of ecokv, budget 48, window 8" where /scores are those of another policy, or "".
QString scoresNote(const analysis::TraceDocument& document, const std::string& policyId);
/// " · no KV cache (linear attention)", " · sliding window of 512 tokens, not evicted", or "".
QString layerNote(const analysis::TraceDocument& document, std::int64_t layer);

} // namespace ecokv::ui
