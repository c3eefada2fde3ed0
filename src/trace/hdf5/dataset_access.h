#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What reading numbers and reading text share; private to this folder. Hold a LibraryLock.

#include "trace/hdf5/datasets.h"

#include <cstddef>
#include <cstdint>

namespace ecokv::trace {

struct Spaces {
    Handle file, memory; ///< `memory` is empty for a whole dataset
    std::uint64_t elements = 0;
};

Spaces selectSpaces(hid_t dataset, const Selection& selection);
/// A file of a few bytes may claim any shape; what it can really hold bounds what we allocate.
void checkPlausible(hid_t dataset, std::uint64_t elements, std::size_t elementSize);
/// H5Dread, with a sentence where the stored form cannot be read here.
void readRaw(hid_t dataset, hid_t memoryType, const Spaces& spaces, void* target);

} // namespace ecokv::trace
