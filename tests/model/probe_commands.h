#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What the commands of ecokv_model_probe share; each takes its words and returns what is printed.

#include "model/json_file.h"

#include <fstream>
#include <string>
#include <vector>

namespace ecokv::model {

using Words = std::vector<std::string>;

Json readInput(); ///< stdin

template <class T> void writeFile(const std::string& path, const std::vector<T>& values) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(T)));
}

Json tokenize(const Words& words);
Json timeTokenizer(const Words& words);
Json renderTemplates(const Words& words);
Json renderChat(const Words& words);
Json renderVariables(const Words& words);

} // namespace ecokv::model
