#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Where an axis has its ticks and what they say. Labels are free of the locale. Private to
// ui/plots. Any thread.

#include <QString>

#include <vector>

namespace ecokv::ui {

struct Tick {
    double value = 0; ///< data units; log10 of them for logTicks
    QString label;    ///< "" = a minor tick
};

/// Round numbers in [low, high], about `count` of them.
std::vector<Tick> linearTicks(double low, double high, int count);
/// 0, step, 2 step, ... < size with a round step, at most `most` of them: rows and columns.
std::vector<Tick> indexTicks(int size, int most);
/// Decades in [low, high] (log10), with 1-2-5 between them if there are fewer than three.
std::vector<Tick> logTicks(double low, double high, int most);

} // namespace ecokv::ui
