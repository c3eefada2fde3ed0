#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Text files that are whole or not there: written as NAME.part and renamed, so that an export that
// fails or is killed leaves an older file as it was. Any thread, one writer per file.

#include <filesystem>
#include <string>

namespace ecokv {

/// Puts `text` in the place of `path`; a link stays and the file behind it is replaced. Throws
/// Error{BadInput} naming the file where it, its .part or its folder cannot be written, or where
/// it is a folder or a device.
void writeWholeFile(const std::filesystem::path& path, const std::string& text);

} // namespace ecokv
