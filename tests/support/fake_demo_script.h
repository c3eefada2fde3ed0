#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A stand-in for the script that builds the 135M demo: a shell script with the same words on
// stdout, which needs neither Python nor a network. It writes the manifest that marks a whole
// folder.

#include <filesystem>
#include <fstream>
#include <string>

namespace ecokv::test {

/// `body` sees the folder as $folder.
inline void writeDemoScript(const std::filesystem::path& path, const std::string& body) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "folder=$4\n" << body;
}

inline std::string sayProgress(int done, int total) {
    return "echo '{\"stage\": \"Downloading\", \"done\": " + std::to_string(done) +
           ", \"total\": " + std::to_string(total) + ", \"unit\": \"bytes\"}'\n";
}

/// Downloads 93 MB in two steps and is done.
inline std::string goodBuild() {
    return sayProgress(10'000'000, 93'000'000) + sayProgress(93'000'000, 93'000'000) +
           "mkdir -p \"$folder\"\n"
           "echo '{}' > \"$folder/ecokv-demo.json\"\n"
           "echo \"{\\\"folder\\\": \\\"$folder\\\", \\\"built\\\": true}\"\n";
}

/// Downloads until it is terminated; `marker` exists as long as it runs.
inline std::string endlessBuild(const std::filesystem::path& marker) {
    std::string name("'");
    name.append(marker.string()).append("'");
    return "trap 'rm " + name + "; exit 4' TERM\ntouch " + name + "\n" +
           sayProgress(1'000'000, 93'000'000) + "while :; do sleep 0.05; done\n";
}

} // namespace ecokv::test
