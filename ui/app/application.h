#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The program `ecokv-lens` from its arguments to its exit code: 0 done, 2 usage, 3 bad input,
// 1 a bug. Reads the environment here and nowhere below.

namespace ecokv::ui {

int runApplication(int argc, char** argv);

} // namespace ecokv::ui
