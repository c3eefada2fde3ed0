#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// QCustomPlot in a project without Qt's keywords (field case F159): its header says `signals` and
// `foreach`, which mean Qt's macros here and nothing anywhere else. Private to ui/plots, and only
// for source files, because it brings all of Qt's widgets and printing.

#include <QtGlobal>

#define signals Q_SIGNALS
#define slots Q_SLOTS
#define foreach Q_FOREACH
#include <qcustomplot.h>
#undef foreach
#undef slots
#undef signals
