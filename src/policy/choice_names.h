#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The names of a policy's choices, as options are typed and as run settings and traces hold them.
// Values only; any thread.

#include "base/choice_table.h"
#include "policy/policy_config.h"

namespace ecokv::policy {

inline constexpr ChoiceTable<kernels::PoolMode, 3> kPoolModes{
    {{"avg", kernels::PoolMode::Average},
     {"avg-padded", kernels::PoolMode::AveragePadded},
     {"max", kernels::PoolMode::Max}}};
inline constexpr ChoiceTable<Geometry, 2> kGeometries{
    {{"post", Geometry::Post}, {"pre", Geometry::Pre}}};
inline constexpr ChoiceTable<RedundancySource, 3> kRedundancySources{
    {{"measured", RedundancySource::Measured},
     {"constant", RedundancySource::Constant},
     {"table", RedundancySource::Table}}};

} // namespace ecokv::policy
