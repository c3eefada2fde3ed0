// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/weights/checkpoint.h"

#include "base/error.h"
#include "model/json_file.h"
#include "model/sha256.h"
#include "model/weights/foreign_files.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ecokv::model {

namespace fs = std::filesystem;

namespace {

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

/// tensor name -> shard name, as the index says (field cases F082 to F085).
std::map<std::string, std::string> readIndex(const fs::path& path) {
    const Json json = readJsonFile(path);
    const JsonObject map = JsonObject(json, path.string()).object("weight_map");
    std::map<std::string, std::string> shardOf;
    for (const auto& [tensor, shard] : map.raw().items()) {
        if (!shard.is_string()) {
            throwBadInput(fmt::format("{}: weight_map names no file for tensor \"{}\".",
                                      path.string(), tensor),
                          "Download the index again; it must lie beside the weights it names.");
        }
        const auto name = shard.get<std::string>();
        if (name.empty() || name == "." || name == ".." ||
            name.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
            throwBadInput(
                fmt::format("{}: tensor \"{}\" is said to lie in \"{}\", outside the model folder.",
                            path.string(), tensor, name),
                "An index may only name files beside it; download it again from a source you "
                "trust.");
        }
        shardOf.emplace(tensor, name);
    }
    return shardOf;
}

std::set<std::string> shardNames(const std::map<std::string, std::string>& shardOf) {
    std::set<std::string> names;
    for (const auto& [tensor, shard] : shardOf) {
        names.insert(shard);
    }
    return names;
}

void requireShards(const fs::path& folder, const std::set<std::string>& names) {
    std::vector<std::string> missing;
    for (const std::string& name : names) {
        if (!fs::exists(folder / name)) {
            missing.push_back(name);
        }
    }
    if (!missing.empty()) {
        throwBadInput(fmt::format("{} names {} weight files, of which {} cannot be found: {}.",
                                  (folder / kIndexFile).string(), names.size(), missing.size(),
                                  fmt::join(missing, ", ")),
                      "Download the missing files into the model folder.");
    }
}

/// What an index and its shards say differently, all of it.
class IndexCheck {
public:
    explicit IndexCheck(const std::map<std::string, std::string>& shardOf) : m_shardOf(shardOf) {}

    void see(const SafetensorsFile& file) {
        const std::string shard = file.path().filename().string();
        for (const StoredTensor& tensor : file.tensors()) {
            m_stored.insert(tensor.name);
            const auto entry = m_shardOf.find(tensor.name);
            if (entry == m_shardOf.end()) {
                m_problems.push_back(fmt::format("{} lies in {}, but the index does not name it",
                                                 tensor.name, shard));
            } else if (entry->second != shard) {
                m_problems.push_back(fmt::format("{} lies in {}, but the index says {}",
                                                 tensor.name, shard, entry->second));
            }
        }
    }

    void finish(const fs::path& index) {
        for (const auto& [tensor, shard] : m_shardOf) {
            if (!m_stored.contains(tensor)) {
                m_problems.push_back(
                    fmt::format("{} is not in {}, where the index says it is", tensor, shard));
            }
        }
        if (m_problems.empty()) {
            return;
        }
        const std::size_t shown = std::min<std::size_t>(m_problems.size(), 20);
        throwBadInput(
            fmt::format("{} does not fit the weights ({}): {}{}.", index.string(),
                        m_problems.size(),
                        fmt::join(m_problems.begin(),
                                  m_problems.begin() + static_cast<std::ptrdiff_t>(shown), "; "),
                        shown < m_problems.size() ? "; ..." : ""),
            "The index is stale or a tensor is stored twice; download index and weights together.");
    }

private:
    const std::map<std::string, std::string>& m_shardOf;
    std::set<std::string> m_stored;
    std::vector<std::string> m_problems;
};

/// What the index says and what the shards hold must be the same (field case F083).
void compareWithIndex(const std::map<std::string, std::string>& shardOf,
                      const std::vector<SafetensorsFile>& files, const fs::path& index) {
    IndexCheck check(shardOf);
    for (const SafetensorsFile& file : files) {
        check.see(file);
    }
    check.finish(index);
}

/// Names that end in the same two components, to help with moved prefixes.
std::vector<std::string> namesakes(const std::vector<const StoredTensor*>& tensors,
                                   const std::string& name) {
    std::size_t cut = name.rfind('.');
    cut = cut == std::string::npos || cut == 0 ? cut : name.rfind('.', cut - 1);
    const std::string tail = cut == std::string::npos ? name : name.substr(cut);
    std::vector<std::string> found;
    for (const StoredTensor* tensor : tensors) {
        if (found.size() < 3 && tensor->name.ends_with(tail)) {
            found.push_back(tensor->name);
        }
    }
    return found;
}

bool isFloating(DType dtype) {
    return dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16;
}

} // namespace

Checkpoint Checkpoint::open(const fs::path& folder) {
    if (!fs::is_directory(folder)) {
        throwBadInput(fmt::format("{} is not a folder.", folder.string()),
                      "Give the folder that holds config.json and the weights.");
    }
    Checkpoint checkpoint;
    const bool single = fs::exists(folder / kSingleFile);
    const fs::path index = folder / kIndexFile;
    if (!single && !fs::exists(index)) {
        throwNoWeights(folder);
    }
    if (single) { // transformers prefers the single file too
        checkpoint.m_files.push_back(SafetensorsFile::open(folder / kSingleFile));
    } else {
        const auto shardOf = readIndex(index);
        const auto names = shardNames(shardOf);
        requireShards(folder, names);
        for (const std::string& name : names) {
            checkpoint.m_files.push_back(SafetensorsFile::open(folder / name));
        }
        compareWithIndex(shardOf, checkpoint.m_files, index);
    }
    for (const SafetensorsFile& file : checkpoint.m_files) {
        for (const StoredTensor& tensor : file.tensors()) {
            checkpoint.m_byName.emplace(tensor.name, &tensor);
        }
    }
    return checkpoint;
}

const StoredTensor* Checkpoint::find(const std::string& name) const {
    const auto found = m_byName.find(name);
    return found == m_byName.end() ? nullptr : found->second;
}

const StoredTensor& Checkpoint::require(const std::string& name) const {
    if (const StoredTensor* tensor = find(name)) {
        return *tensor;
    }
    const auto similar = namesakes(tensors(), name);
    throwBadInput(fmt::format("The weights in {} hold no tensor \"{}\".",
                              m_files.front().path().parent_path().string(), name),
                  similar.empty()
                      ? "Check that config.json belongs to these weights."
                      : fmt::format("Similar names are: {}.", fmt::join(similar, ", ")));
}

std::vector<const StoredTensor*> Checkpoint::tensors() const {
    std::vector<const StoredTensor*> sorted;
    sorted.reserve(m_byName.size());
    for (const auto& [name, tensor] : m_byName) {
        sorted.push_back(tensor);
    }
    std::ranges::sort(sorted, {}, &StoredTensor::name);
    return sorted;
}

std::string Checkpoint::headerSha256() const {
    Sha256 hash;
    for (const SafetensorsFile& file : m_files) {
        hash.update(file.header());
    }
    return hash.hex();
}

std::int64_t Checkpoint::parameters() const {
    std::int64_t count = 0;
    for (const auto& [name, tensor] : m_byName) {
        const auto dtype = tensor->dtype();
        count += !dtype || isFloating(*dtype) ? tensor->numel() : 0;
    }
    return count;
}

std::map<std::string, std::int64_t> Checkpoint::bytesByDType() const {
    std::map<std::string, std::int64_t> bytes;
    for (const auto& [name, tensor] : m_byName) {
        bytes[tensor->dtypeName] += static_cast<std::int64_t>(tensor->bytes.size());
    }
    return bytes;
}

std::vector<std::filesystem::path> Checkpoint::files() const {
    std::vector<std::filesystem::path> paths;
    for (const SafetensorsFile& file : m_files) {
        paths.push_back(file.path());
    }
    return paths;
}

std::int64_t Checkpoint::fileBytes() const {
    std::int64_t bytes = 0;
    for (const SafetensorsFile& file : m_files) {
        bytes += file.fileBytes();
    }
    return bytes;
}

DType Checkpoint::storedDType() const {
    std::map<DType, std::int64_t> counts;
    for (const auto& [name, tensor] : m_byName) {
        if (const auto dtype = tensor->dtype(); dtype && isFloating(*dtype)) {
            counts[*dtype] += tensor->numel();
        }
    }
    const auto most = std::ranges::max_element(
        counts, [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == counts.end() ? DType::F32 : most->first;
}

} // namespace ecokv::model
