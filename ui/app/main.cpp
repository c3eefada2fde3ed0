// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/app/application.h"

int main(int argc, char** argv) {
    return ecokv::ui::runApplication(argc, argv);
}
