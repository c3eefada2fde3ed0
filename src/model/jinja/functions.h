#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The functions every template can call: raise_exception, range, namespace, dict, strftime_now.

#include "model/jinja/value.h"

namespace ecokv::jinja {

/// name -> function
const Map& globalFunctions();

} // namespace ecokv::jinja
