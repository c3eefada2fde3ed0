#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// How Python cuts a text into parts. A negative limit is none.

#include "model/jinja/value.h"

#include <cstdint>
#include <string>

namespace ecokv::jinja {

/// str.split() without a separator: runs of white space, none at the ends.
List splitAtSpace(const std::string& text, std::int64_t limit);
List splitAtSpaceFromRight(const std::string& text, std::int64_t limit);
/// `separator` is not empty.
List splitAt(const std::string& text, const std::string& separator, std::int64_t limit);
List splitAtFromRight(const std::string& text, const std::string& separator, std::int64_t limit);
List splitIntoLines(const std::string& text, bool keepsEnds);

} // namespace ecokv::jinja
