// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/doctor_report.h"

#include <algorithm>

namespace ecokv::session {

std::int64_t DoctorReport::problems() const {
    return std::ranges::count(findings, Severity::Problem, &Finding::severity);
}

} // namespace ecokv::session
