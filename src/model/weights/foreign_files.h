#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Files that are not what is asked for: other weight formats in a folder, and web pages, Git LFS
// pointers or pickles under the name of a model file (field case F075). Only names and the first
// bytes are looked at.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ecokv::model {

/// What a file is instead, and what to do about it.
struct Foreign {
    std::string what; ///< "a web page", "a Git LFS pointer"
    std::string advice;
};

/// By the first bytes of the file; nothing if they are none of the known kinds.
std::optional<Foreign> foreignContent(std::string_view head);
/// By the ending of the file's name: weights of another format.
std::optional<Foreign> foreignWeights(const std::filesystem::path& file);

/// Throws Error{BadInput} unless `folder` can be one with a model: it is a file, holds no
/// config.json (with advice by what it does hold), or does not exist.
void requireModelFolder(const std::filesystem::path& folder);
/// Throws Error{BadInput}: there are no safetensors that can be opened; says what there is instead.
[[noreturn]] void throwNoWeights(const std::filesystem::path& folder);

} // namespace ecokv::model
