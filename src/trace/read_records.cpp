// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/read_records.h"

#include "base/error.h"
#include "trace/hdf5/attributes.h"
#include "trace/hdf5/datasets.h"
#include "trace/read_rotation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace ecokv::trace {

namespace {

using Shape = std::vector<std::int64_t>;

Attributes groupAttributes(hid_t group) {
    Attributes attributes = readAttributes(group);
    readLongTexts(group, attributes);
    return attributes;
}

/// A text that may be a dataset or, in files of others, an attribute; "" if absent.
std::string textOf(hid_t group, const std::string& name) {
    if (hasLink(group, name) && isDataset(group, name)) {
        const auto values = readTextDataset(openDataset(group, name).get());
        return values.empty() ? std::string() : values.front();
    }
    return readText(group, name).value_or("");
}

Handle openShaped(hid_t group, const std::string& name, const Shape& shape) {
    Handle dataset = openDataset(group, name);
    if (const Shape found = shapeOf(dataset.get()); found != shape) {
        throwBadInput(fmt::format("{} has shape [{}] instead of [{}].", nameOf(dataset.get()),
                                  fmt::join(found, ", "), fmt::join(shape, ", ")));
    }
    return dataset;
}

/// [count] integers, or `count` times `neutral` if the dataset is missing.
template <class T>
std::vector<T> integersOf(hid_t group, const std::string& name, std::int64_t count, T neutral) {
    if (!hasLink(group, name)) {
        return std::vector<T>(static_cast<std::size_t>(count), neutral);
    }
    return readIntegers<T>(openShaped(group, name, {count}).get());
}

std::vector<std::string> textsOf(hid_t group, const std::string& name, std::int64_t count) {
    if (!hasLink(group, name)) {
        return std::vector<std::string>(static_cast<std::size_t>(count));
    }
    return readTextDataset(openShaped(group, name, {count}).get());
}

std::vector<std::array<float, 4>> boxesOf(hid_t group, std::int64_t tokens) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<std::array<float, 4>> boxes(static_cast<std::size_t>(tokens), {nan, nan, nan, nan});
    if (hasLink(group, "patch_box")) {
        const auto flat = readFloats(openShaped(group, "patch_box", {tokens, 4}).get());
        for (std::size_t token = 0; token < boxes.size(); ++token) {
            std::copy_n(flat.begin() + static_cast<std::ptrdiff_t>(4 * token), 4,
                        boxes[token].begin());
        }
    }
    return boxes;
}

/// Values outside an enumeration become 0, its plainest member.
void limitTo(std::vector<std::uint8_t>& values, std::uint8_t largest) {
    std::replace_if(
        values.begin(), values.end(), [largest](std::uint8_t v) { return v > largest; },
        std::uint8_t{0});
}

ImageRecord readImage(hid_t group, const std::string& name) {
    const Handle dataset = openDataset(group, name);
    const Shape shape = shapeOf(dataset.get());
    if (shape.size() != 3 || shape[2] != 3) {
        throwBadInput(fmt::format("{} has shape [{}] instead of [height, width, 3].",
                                  nameOf(dataset.get()), fmt::join(shape, ", ")));
    }
    ImageRecord image;
    image.height = shape[0];
    image.width = shape[1];
    image.pixels = readIntegers<std::uint8_t>(dataset.get());
    image.attributes = readAttributes(dataset.get());
    for (const char* ours : {"CLASS", "IMAGE_VERSION", "IMAGE_SUBCLASS", "INTERLACE_MODE",
                             "description", "units", "axes", "DIMENSION_LABELS"}) {
        image.attributes.erase(ours);
    }
    return image;
}

EvictionRecord readEvictions(hid_t parent) {
    EvictionRecord evictions;
    if (isEmptyGroup(parent, "evictions")) {
        return evictions;
    }
    const Handle owner = openGroup(parent, "evictions");
    const hid_t group = owner.get();
    evictions.step = readIntegers<std::int64_t>(openDataset(group, "step").get());
    const Shape count{std::ssize(evictions.step)};
    evictions.layer = readIntegers<std::int32_t>(openShaped(group, "layer", count).get());
    evictions.kvHead = readIntegers<std::int32_t>(openShaped(group, "kv_head", count).get());
    evictions.position = readIntegers<std::int64_t>(openShaped(group, "position", count).get());
    return evictions;
}

std::optional<std::uint64_t> asNumber(const std::string& name) {
    const bool digits =
        !name.empty() && name.size() < 19 &&
        std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    return digits ? std::optional(std::stoull(name)) : std::nullopt;
}

} // namespace

std::optional<ModelRecord> readModelGroup(hid_t file) {
    ModelRecord model;
    const bool present = !isEmptyGroup(file, "model");
    if (present) {
        const Handle group = openGroup(file, "model");
        model.attributes = groupAttributes(group.get());
        model.configJson = textOf(group.get(), "config_json");
        readRopes(group.get(), model);
        if (hasLink(group.get(), "sliding_windows")) {
            model.slidingWindows =
                readIntegers<std::int64_t>(openDataset(group.get(), "sliding_windows").get());
        }
        if (hasLink(group.get(), "linear_layers")) {
            model.linearLayers =
                readIntegers<std::uint8_t>(openDataset(group.get(), "linear_layers").get());
        }
    }
    // Traces of others may say how to rotate beside the keys.
    const Attributes beside = hasLink(file, "tensors/keys")
                                  ? readAttributes(openDataset(file, "tensors/keys").get())
                                  : Attributes{};
    for (const char* name : {"rope_theta", "rope_style"}) {
        if (const auto found = beside.find(name); found != beside.end()) {
            model.attributes.insert(*found);
        }
    }
    return present || !model.attributes.empty() ? std::optional(model) : std::nullopt;
}

std::optional<RunRecord> readRunGroup(hid_t file) {
    if (isEmptyGroup(file, "run")) {
        return std::nullopt;
    }
    const Handle group = openGroup(file, "run");
    return RunRecord{groupAttributes(group.get()), textOf(group.get(), "arguments_json"),
                     textOf(group.get(), "log")};
}

std::optional<PromptRecord> readPromptGroup(hid_t file, const Dimensions& dimensions) {
    if (isEmptyGroup(file, "prompt")) {
        return std::nullopt;
    }
    const std::int64_t tokens = dimensions.tokens;
    const Handle owner = openGroup(file, "prompt");
    const hid_t group = owner.get();
    PromptRecord prompt;
    prompt.text = textOf(group, "text");
    prompt.tokenIds = integersOf<std::int64_t>(group, "token_ids", tokens, 0);
    prompt.tokenText = textsOf(group, "token_text", tokens);
    prompt.tokenKind = integersOf<std::uint8_t>(group, "token_kind", tokens, 0);
    prompt.imageIndex = integersOf<std::int32_t>(group, "image_index", tokens, -1);
    prompt.patchBox = boxesOf(group, tokens);
    prompt.patchRole = integersOf<std::uint8_t>(group, "patch_role", tokens, 0);
    prompt.ropePositions = readRopePositions(file, tokens);
    limitTo(prompt.tokenKind, 2);
    limitTo(prompt.patchRole, 3);
    const auto images = static_cast<std::int32_t>(sortedIds(file, "images").size());
    std::replace_if(
        prompt.imageIndex.begin(), prompt.imageIndex.end(),
        [images](std::int32_t index) { return index < -1 || index >= images; }, -1);
    return prompt;
}

std::vector<ImageRecord> readImages(hid_t file) {
    std::vector<ImageRecord> images;
    const auto names = sortedIds(file, "images");
    if (!names.empty()) {
        const Handle group = openGroup(file, "images");
        for (const auto& name : names) {
            images.push_back(readImage(group.get(), name));
        }
    }
    return images;
}

std::vector<std::string> sortedIds(hid_t file, const std::string& group) {
    if (!hasLink(file, group)) {
        return {};
    }
    std::vector<std::string> names = linkNames(openGroup(file, group).get());
    std::stable_sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
        const auto x = asNumber(a), y = asNumber(b);
        return x && y ? *x < *y : x.has_value() && !y.has_value();
    });
    return names;
}

PolicyRecord readPolicyGroup(hid_t file, const Dimensions& d, const std::string& id) {
    const std::string path = "policies/" + id;
    if (id.empty() || id.find('/') != std::string::npos || !hasLink(file, path)) {
        throwUsage(fmt::format("{} has no policy \"{}\".", nameOf(file), id));
    }
    const Handle owner = openGroup(file, path);
    const hid_t group = owner.get();
    PolicyRecord policy;
    policy.id = id;
    policy.attributes = groupAttributes(group);
    policy.kept = readIntegers<std::uint8_t>(
        openShaped(group, "kept", {d.layers, d.kvHeads, d.tokens}).get());
    for (std::uint8_t& kept : policy.kept) {
        kept = kept != 0 ? 1 : 0;
    }
    const Shape heads{d.layers, d.kvHeads};
    if (hasLink(group, "budget_per_head")) {
        policy.budgetPerHead =
            readIntegers<std::int32_t>(openShaped(group, "budget_per_head", heads).get());
    } else {
        for (auto head = policy.kept.begin(); head != policy.kept.end(); head += d.tokens) {
            policy.budgetPerHead.push_back(
                static_cast<std::int32_t>(std::count(head, head + d.tokens, 1)));
        }
    }
    if (hasLink(group, "output_error")) {
        policy.outputError = readFloats(openShaped(group, "output_error", heads).get());
    }
    if (hasLink(group, "retained_mass")) {
        policy.retainedMass = readFloats(openShaped(group, "retained_mass", heads).get());
    }
    if (hasLink(group, "measured_error")) {
        policy.measuredError = readFloats(openShaped(group, "measured_error", heads).get());
    }
    return policy;
}

std::optional<DecodeRecord> readDecodeGroup(hid_t file, const Dimensions& d,
                                            const std::string& path) {
    if (isEmptyGroup(file, path)) {
        return std::nullopt;
    }
    const Handle owner = openGroup(file, path);
    const hid_t group = owner.get();
    DecodeRecord decode;
    decode.attributes = groupAttributes(group);
    decode.tokenIds = readIntegers<std::int64_t>(openDataset(group, "token_ids").get());
    const auto steps = static_cast<std::int64_t>(decode.tokenIds.size());
    decode.tokenText = textsOf(group, "token_text", steps);
    if (hasLink(group, "logprob")) {
        decode.logprob = readFloats(openShaped(group, "logprob", {steps}).get());
    }
    if (hasLink(group, "question_ids")) {
        decode.questionIds = readIntegers<std::int64_t>(openDataset(group, "question_ids").get());
    }
    if (hasLink(group, "kept_length")) {
        decode.keptLength = readIntegers<std::int32_t>(
            openShaped(group, "kept_length", {steps, d.layers, d.kvHeads}).get());
    }
    decode.evictions = readEvictions(group);
    return decode;
}

std::vector<DecodeRecord> readQuestions(hid_t file, const Dimensions& dimensions,
                                        const std::string& group) {
    std::vector<DecodeRecord> questions;
    for (const std::string& id : sortedIds(file, group)) {
        if (auto question = readDecodeGroup(file, dimensions, group + "/" + id)) {
            questions.push_back(std::move(*question));
        }
    }
    return questions;
}

std::optional<ForcedRecord> readForcedGroup(hid_t file, const std::string& path) {
    if (isEmptyGroup(file, path)) {
        return std::nullopt;
    }
    const Handle owner = openGroup(file, path);
    const hid_t group = owner.get();
    if (!hasLink(group, "kl")) {
        return std::nullopt;
    }
    ForcedRecord forced;
    forced.kl = readFloats(openDataset(group, "kl").get());
    const Shape steps{static_cast<std::int64_t>(forced.kl.size())};
    forced.top1Agree = readIntegers<std::uint8_t>(openShaped(group, "top1_agree", steps).get());
    forced.logprob = readFloats(openShaped(group, "forced_logprob", steps).get());
    return forced;
}

} // namespace ecokv::trace
