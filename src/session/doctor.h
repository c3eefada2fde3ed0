#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The doctor's report: what the model code finds in the folder, and what a run would need and use.

#include "base/tensor_view.h"
#include "model/model.h"
#include "session/doctor_report.h"

namespace ecokv::session {

/// The device a run would use.
struct ChosenDevice {
    Device device;
    std::string name;               ///< "cpu", "NVIDIA H200"
    std::vector<std::string> notes; ///< why not another one
    std::vector<Finding> refusals;  ///< why not the one that was asked for
};

DoctorReport makeDoctorReport(const DoctorRequest& request, const ChosenDevice& device,
                              model::ComputeDType dtype);

} // namespace ecokv::session
