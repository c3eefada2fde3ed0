#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Runs a check under every instruction set that this build has and this machine can execute, so
// that AVX2 and the scalar fallback are tested on AVX-512 machines too. One thread.

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <functional>

namespace ecokv::test {

inline void forEachInstructionSet(const std::function<void(const char* name)>& check) {
    const std::int64_t usable = hwy::SupportedTargets();
    for (const std::int64_t target : {HWY_AVX3, HWY_AVX2, HWY_SCALAR}) {
        if ((usable & target) == 0 && target != HWY_SCALAR) {
            continue;
        }
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().DeInit(); // the next call chooses again
        check(hwy::TargetName(target));
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
}

} // namespace ecokv::test
