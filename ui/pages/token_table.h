#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A table of tokens that sorts by number and selects tokens for the whole window.

#include "ui/models/app_state.h"
#include "ui/models/token_table_model.h"

class QTableView;

namespace ecokv::ui {

/// Both ways: a row made current selects its token, a token selected elsewhere becomes current.
QTableView* makeTokenTable(TokenTableModel* model, AppState* state);
/// From the headings and a sample of rows, never from all (field case F153).
void sizeTokenColumns(QTableView* table);

} // namespace ecokv::ui
