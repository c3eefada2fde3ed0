#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Writes float32 arrays as NumPy files (format 1.0, little endian), for oracles in Python.

#include "base/error.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace ecokv::tests {

/// `data` is row-major with the given shape.
inline void writeNpy(const std::filesystem::path& path, const std::vector<std::int64_t>& shape,
                     const std::vector<float>& data) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
    for (const std::int64_t extent : shape) {
        header += std::to_string(extent) + ",";
    }
    header += ")}";
    constexpr std::size_t kPreamble = 10; // magic, version, length
    header.append(63 - (kPreamble + header.size()) % 64, ' ');
    header += '\n';
    std::ofstream file(path, std::ios::binary);
    const auto length = static_cast<std::uint16_t>(header.size());
    file.write("\x93NUMPY\x01\x00", 8);
    file.put(static_cast<char>(length & 0xff)).put(static_cast<char>(length >> 8));
    file << header;
    file.write(reinterpret_cast<const char*>(data.data()),
               static_cast<std::streamsize>(data.size() * sizeof(float)));
    if (!file) {
        throwBadInput("The file " + path.string() + " could not be written.");
    }
}

} // namespace ecokv::tests
