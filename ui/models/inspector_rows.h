#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What the Inspector says about the selected head and the current token, in fixed rows. Pure
// functions over snapshots.

#include "ui/models/app_state.h"
#include "ui/models/inspector_model.h"
#include "ui/models/token_table_model.h"

namespace ecokv::ui {

struct InspectorInput {
    DocumentPtr document;
    const analysis::PolicyView* policy = nullptr;
    HeadSelection selection;
    qint64 token = -1;
    ScatterPtr scatter;   ///< of the selected head, or null
    SurvivalPtr survival; ///< of what the Survival page shows, or null
};

std::vector<InspectorRow> inspectorRows(const InspectorInput& input);

} // namespace ecokv::ui
