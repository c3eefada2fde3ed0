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
FigureSource sourceOf(const DocumentPtr& document, std::function<QString()> csv);

} // namespace ecokv::ui
