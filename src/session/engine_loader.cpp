// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/engine.h"

#include "base/error.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

namespace ecokv::session {

namespace {

constexpr const char* kEngineFile = "libecokv_engine.so";
constexpr const char* kEntryPoint = "ecokvCreateEngine";

std::filesystem::path besideThisLibrary() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&besideThisLibrary), &info) == 0 || !info.dli_fname) {
        return {};
    }
    std::error_code failed;
    return std::filesystem::weakly_canonical(info.dli_fname, failed).parent_path();
}

} // namespace

std::unique_ptr<Engine> loadEngine(const std::filesystem::path& hint) {
    const auto file = hint.empty() ? besideThisLibrary() / kEngineFile : hint;
    if (!std::filesystem::exists(file)) {
        throwBadInput(fmt::format("The model engine {} was not found.", file.string()),
                      "This build only opens traces; build the `release` or `headless` preset (or "
                      "run ./run) to run models.");
    }
    // Never closed: LibTorch keeps threads and static state that do not survive an unload.
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        throwBadInput(
            fmt::format("The model engine {} could not be loaded: {}.", file.string(), dlerror()),
            "Run ./run once more; it restores the LibTorch the engine was built with.");
    }
    using Create = Engine* (*)();
    const auto create = reinterpret_cast<Create>(dlsym(library, kEntryPoint));
    if (create == nullptr) {
        throwBadInput(fmt::format("{} is not a model engine of this program.", file.string()),
                      "Remove it and build again.");
    }
    return std::unique_ptr<Engine>(create());
}

} // namespace ecokv::session
