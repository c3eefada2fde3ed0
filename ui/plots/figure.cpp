// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/figure.h"

namespace ecokv::ui {

double Figure::preferredHeight(double, const Theme&) const {
    return 0;
}

double Figure::minimumHeight(double, const Theme&) const {
    return 0;
}

} // namespace ecokv::ui
