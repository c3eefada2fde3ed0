#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Where the policy's answer leaves the full cache's answer, and whether an answer is the expected
// one. Pure functions on text.

#include <QString>

namespace ecokv::ui {

/// Index (UTF-16 units, never inside a surrogate pair) of the first difference; -1 if equal.
/// While one of them still grows (`complete` false) a missing tail is no difference.
qsizetype firstDifference(const QString& reference, const QString& answer, bool complete);

/// Equal after trimming white space and case folding.
bool answersMatch(const QString& expected, const QString& answer);

} // namespace ecokv::ui
