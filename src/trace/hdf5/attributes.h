#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Small attributes of groups and datasets. Text longer than an attribute may hold becomes a dataset
// beside it, and is read back as if it were an attribute (field case F126). Hold a LibraryLock.

#include "trace/hdf5/library.h"
#include "trace/trace_records.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ecokv::trace {

/// Longest text stored as an attribute; HDF5's header messages end at 64 KiB.
inline constexpr std::size_t kLongestAttribute = 60'000;

/// These replace an existing attribute of the same name.
void writeText(hid_t object, const std::string& name, const std::string& value);
void writeInteger(hid_t object, const std::string& name, std::int64_t value);
void writeNumber(hid_t object, const std::string& name, double value);
void writeTexts(hid_t object, const std::string& name, const std::vector<std::string>& values);
/// Fixed-length ASCII, as the IMAGE convention wants it.
void writeFixedText(hid_t object, const std::string& name, const std::string& value);
void writeAttributes(hid_t group, const Attributes& attributes);

/// Scalars as they are; one-dimensional text joined by ", "; anything else is left out.
Attributes readAttributes(hid_t object);
std::optional<std::string> readText(hid_t object, const std::string& name);
std::optional<std::int64_t> readInteger(hid_t object, const std::string& name);
/// Long texts that stand beside `group` as datasets, under their attribute names.
void readLongTexts(hid_t group, Attributes& attributes);

} // namespace ecokv::trace
