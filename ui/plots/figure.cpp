// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/figure.h"

namespace ecokv::ui {

double Figure::heightForWidth(double, const Theme&) const {
    return 0;
}

} // namespace ecokv::ui
