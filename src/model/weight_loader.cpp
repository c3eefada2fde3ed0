// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/weight_loader.h"

#include "base/error.h"
#include "model/tensor_bridge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace ecokv::model {

namespace {

/// Buffers that old exports stored although they follow from the configuration.
bool isDerivedBuffer(const std::string& name) {
    return name.ends_with(".rotary_emb.inv_freq") || name.ends_with(".embeddings.position_ids");
}

std::string canonicalName(const std::string& written, std::span<const PrefixRule> rules) {
    for (const PrefixRule& rule : rules) {
        if (written.starts_with(rule.written)) {
            return rule.canonical + written.substr(std::strlen(rule.written));
        }
    }
    return written;
}

/// "missing (2): a, b" with at most a screenful of names.
std::string listProblem(const char* what, const std::vector<std::string>& names) {
    constexpr std::size_t kShown = 40;
    if (names.empty()) {
        return {};
    }
    const auto shown = static_cast<std::ptrdiff_t>(std::min(names.size(), kShown));
    std::string text = fmt::format(" {} ({}): {}", what, names.size(),
                                   fmt::join(names.begin(), names.begin() + shown, ", "));
    return text + (names.size() > kShown ? ", ..." : "") + ".";
}

bool isAligned(const void* data, std::size_t bytes) {
    return reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
}

/// The floating-point types of the file format that convert exactly to float32 (F64: rounded).
std::optional<c10::ScalarType> weightDType(const std::string& name) {
    static const std::map<std::string, c10::ScalarType, std::less<>> kTypes{
        {"F64", c10::ScalarType::Double},
        {"F32", c10::ScalarType::Float},
        {"F16", c10::ScalarType::Half},
        {"BF16", c10::ScalarType::BFloat16},
        {"F8_E4M3", c10::ScalarType::Float8_e4m3fn},
        {"F8_E5M2", c10::ScalarType::Float8_e5m2},
    };
    const auto found = kTypes.find(name);
    return found == kTypes.end() ? std::nullopt : std::optional(found->second);
}

/// The stored bytes as a tensor: a view of the file where its data is aligned.
at::Tensor blobOf(const StoredTensor& stored, c10::ScalarType dtype) {
    const auto options = at::TensorOptions(dtype);
    if (isAligned(stored.bytes.data(), c10::elementSize(dtype))) {
        return at::from_blob(const_cast<std::byte*>(stored.bytes.data()), stored.shape, options);
    }
    // A header of odd length puts the data off its natural alignment, which kernels rely on.
    at::Tensor copy = at::empty(stored.shape, options);
    std::memcpy(copy.data_ptr(), stored.bytes.data(), stored.bytes.size());
    return copy;
}

} // namespace

WeightLoader::WeightLoader(const Checkpoint& checkpoint, std::span<const PrefixRule> rules,
                           WeightTarget target)
    : m_target(std::move(target)) {
    for (const StoredTensor* stored : checkpoint.tensors()) {
        addName(*stored, rules);
    }
}

void WeightLoader::addName(const StoredTensor& stored, std::span<const PrefixRule> rules) {
    if (isDerivedBuffer(stored.name)) {
        return;
    }
    const std::string name = canonicalName(stored.name, rules);
    const auto [entry, isNew] = m_byName.emplace(name, &stored);
    if (isNew) {
        m_bytesTotal += static_cast<std::int64_t>(stored.bytes.size());
    } else {
        m_doubled.push_back(fmt::format("{} and {}", entry->second->name, stored.name));
    }
}

at::Tensor WeightLoader::take(const std::string& name, at::IntArrayRef shape) {
    m_target.cancel.throwIfCancelled("Loading the weights");
    const auto entry = m_byName.find(name);
    if (entry == m_byName.end()) {
        m_missing.push_back(fmt::format("{} [{}]", name, fmt::join(shape, ", ")));
        return {};
    }
    m_used.insert(name);
    const StoredTensor& stored = *entry->second;
    if (at::IntArrayRef(stored.shape) != shape) {
        m_misshaped.push_back(fmt::format("{} is {}, wanted [{}]", stored.name, stored.describe(),
                                          fmt::join(shape, ", ")));
        return {};
    }
    return load(stored);
}

at::Tensor WeightLoader::load(const StoredTensor& stored) {
    const auto dtype = weightDType(stored.dtypeName);
    if (!dtype) {
        m_unreadable.push_back(fmt::format("{} is {}", stored.name, stored.describe()));
        return {};
    }
    if (m_target.shapesOnly) {
        const at::TensorOptions options(toTorch(m_target.dtype));
        return at::empty(stored.shape, options.device(c10::kMeta));
    }
    at::Tensor result =
        blobOf(stored, *dtype).to(toTorch(m_target.device), toTorch(m_target.dtype));
    m_bytesDone += static_cast<std::int64_t>(stored.bytes.size());
    if (m_target.progress) {
        m_target.progress({"Loading weights", m_bytesDone, m_bytesTotal, "bytes"});
    }
    return result;
}

Linear WeightLoader::takeLinear(const std::string& name, at::IntArrayRef shape, bool bias) {
    Linear linear{take(name + ".weight", shape), {}};
    if (bias) {
        linear.bias = take(name + ".bias", {shape[0]});
    }
    return linear;
}

LayerNorm WeightLoader::takeLayerNorm(const std::string& name, std::int64_t hidden,
                                      double epsilon) {
    return {take(name + ".weight", {hidden}), take(name + ".bias", {hidden}), epsilon};
}

RmsNorm WeightLoader::takeRmsNorm(const std::string& name, std::int64_t hidden, double epsilon) {
    return {take(name + ".weight", {hidden}), epsilon};
}

void WeightLoader::ignore(const std::string& prefix) {
    for (auto entry = m_byName.lower_bound(prefix);
         entry != m_byName.end() && entry->first.starts_with(prefix); ++entry) {
        m_used.insert(entry->first);
    }
}

void WeightLoader::finish(const std::string& folder) const {
    std::vector<std::string> unused;
    for (const auto& [name, stored] : m_byName) {
        if (!m_used.contains(name)) {
            unused.push_back(stored->name);
        }
    }
    const std::string problems = listProblem("Missing", m_missing) +
                                 listProblem("Of another shape", m_misshaped) +
                                 listProblem("Stored twice", m_doubled) +
                                 listProblem("Of a dtype that is not supported", m_unreadable) +
                                 listProblem("Described by nothing", unused);
    if (!problems.empty()) {
        throwBadInput(
            fmt::format("The weights in {} do not fit its config.json.{}", folder, problems),
            "Check that config.json and the safetensors files come from the same export "
            "and that the download is complete.");
    }
}

} // namespace ecokv::model
