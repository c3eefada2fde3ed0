// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/weights/foreign_files.h"

#include "base/error.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ecokv::model {

namespace fs = std::filesystem;

namespace {

constexpr const char* kPickleAdvice =
    "Get the safetensors version of the model, or convert it where you trust the file: in Python, "
    "`AutoModel.from_pretrained(FOLDER).save_pretrained(NEW_FOLDER)` writes safetensors.";
constexpr const char* kGgufAdvice =
    "Get the safetensors version of the model. A language model can be converted in Python: "
    "`AutoModelForCausalLM.from_pretrained(FOLDER, gguf_file=\"NAME.gguf\")`, the same with "
    "`AutoTokenizer`, and `save_pretrained(NEW_FOLDER)` of both.";

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Names of the files in `folder` for which `wanted` holds, ascending.
template <class Wanted> std::vector<std::string> filesOf(const fs::path& folder, Wanted wanted) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        if (wanted(entry.path())) {
            names.push_back(entry.path().filename().string());
        }
    }
    std::ranges::sort(names);
    return names;
}

/// The first file of another weight format in the folder.
std::optional<fs::path> firstForeign(const fs::path& folder) {
    const auto names =
        filesOf(folder, [](const fs::path& file) { return foreignWeights(file).has_value(); });
    return names.empty() ? std::nullopt : std::optional(folder / names.front());
}

} // namespace

std::optional<Foreign> foreignContent(std::string_view head) {
    const auto isSpace = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
    head = head.substr(0, 512);
    while (!head.empty() && isSpace(head.front())) {
        head.remove_prefix(1);
    }
    if (head.starts_with("version https://git-lfs.github.com/")) {
        return Foreign{"a Git LFS pointer",
                       "Run `git lfs pull` in the model folder, or download the file itself."};
    }
    std::string start(head.substr(0, 16));
    std::ranges::transform(start, start.begin(), lower);
    if (start.starts_with("<!doctype") || start.starts_with("<html") ||
        start.starts_with("<?xml")) {
        return Foreign{"a web page",
                       "Download the file again; a login or an error page was saved instead."};
    }
    if (head.starts_with("PK\x03\x04") || head.starts_with("\x80\x02")) {
        return Foreign{"a pickle under a wrong name, which can run code and is never opened",
                       kPickleAdvice};
    }
    if (head.starts_with("GGUF")) {
        return Foreign{"a GGUF file under a wrong name", kGgufAdvice};
    }
    return std::nullopt;
}

std::optional<Foreign> foreignWeights(const fs::path& file) {
    std::string ending = file.extension().string();
    std::ranges::transform(ending, ending.begin(), lower);
    if (ending == ".gguf" || ending == ".ggml") {
        return Foreign{"weights in GGUF format, which is not read", kGgufAdvice};
    }
    for (const char* pickle : {".bin", ".pt", ".pth", ".ckpt", ".pkl"}) {
        if (ending == pickle) {
            return Foreign{"weights as a pickle, which can run code and is never opened",
                           kPickleAdvice};
        }
    }
    return std::nullopt;
}

void requireModelFolder(const fs::path& folder) {
    if (fs::is_regular_file(folder)) {
        if (const auto foreign = foreignWeights(folder)) {
            throwBadInput(fmt::format("{} holds {}.", folder.string(), foreign->what),
                          foreign->advice);
        }
        throwBadInput(fmt::format("{} is a file, not a folder.", folder.string()),
                      "Give the folder that holds config.json and the weights.");
    }
    if (!fs::is_directory(folder)) {
        throwBadInput(fmt::format("{} is not a folder.", folder.string()),
                      "Give the folder that holds config.json and the weights.");
    }
    if (fs::exists(folder / "config.json")) {
        return;
    }
    if (const auto file = firstForeign(folder)) {
        throwBadInput(fmt::format("{} has no config.json, and {} holds {}.", folder.string(),
                                  file->filename().string(), foreignWeights(*file)->what),
                      foreignWeights(*file)->advice);
    }
    throwBadInput(fmt::format("{} has no config.json.", folder.string()),
                  "Give the folder of a Hugging Face model.");
}

void throwNoWeights(const fs::path& folder) {
    const auto shards =
        filesOf(folder, [](const fs::path& file) { return file.extension() == ".safetensors"; });
    if (!shards.empty()) { // names are never guessed (field case F084)
        throwBadInput(fmt::format("{} holds {}, but neither model.safetensors nor "
                                  "model.safetensors.index.json, which says what lies where.",
                                  folder.string(), fmt::join(shards, ", ")),
                      "Download model.safetensors.index.json as well; a single file must be "
                      "called model.safetensors.");
    }
    if (const auto file = firstForeign(folder)) {
        const auto foreign = foreignWeights(*file);
        throwBadInput(fmt::format("{} holds its {} ({}).", folder.string(), foreign->what,
                                  file->filename().string()),
                      foreign->advice);
    }
    throwBadInput(fmt::format("{} holds no weights: neither model.safetensors nor "
                              "model.safetensors.index.json is there.",
                              folder.string()),
                  "Give the folder of a Hugging Face model with safetensors weights.");
}

} // namespace ecokv::model
