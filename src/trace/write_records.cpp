// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/write_records.h"

#include "base/error.h"
#include "trace/hdf5/attributes.h"
#include "trace/read_rotation.h"
#include "trace/trace_layout.h"

#include <fmt/format.h>
#include <hdf5_hl.h>

#include <iterator>
#include <numeric>
#include <span>

namespace ecokv::trace {

namespace {

/// Where the scale of an axis lies; "" = the axis has only a name.
std::string scaleOf(hid_t group, const std::string& axis) {
    if (axis == "window") {
        return "/tensors/window_positions";
    }
    if (axis == "step") {
        return hasLink(group, "step") ? "step" : std::string();
    }
    const std::string path = "/scales/" + axis;
    return hasLink(group, path) ? path : std::string();
}

void attachScales(hid_t group, hid_t dataset, const std::vector<std::string>& axes) {
    for (unsigned i = 0; i < axes.size(); ++i) {
        check(H5DSset_label(dataset, i, axes[i].c_str()), dataset, "name a dimension");
        const std::string path = scaleOf(group, axes[i]);
        if (path.empty()) {
            continue;
        }
        const Handle scale = openDataset(group, path);
        check(H5DSattach_scale(dataset, scale.get(), i), dataset, "attach a dimension scale");
    }
}

/// A one-dimensional or scalar dataset of a record, written at once.
struct Column {
    hid_t group = -1;
    std::string name;
    std::string doc;
    std::vector<std::int64_t> shape;
};

template <class T>
void writeColumn(const Column& column, hid_t type, const std::vector<T>& values) {
    const Handle dataset = createDocumented(
        column.group, {.name = column.name, .type = type, .shape = column.shape}, column.doc);
    writeValues(dataset.get(), std::span<const T>(values));
}

void writeTextColumn(const Column& column, const std::vector<std::string>& values) {
    const Handle type = textType();
    const Handle dataset = createDocumented(
        column.group, {.name = column.name, .type = type.get(), .shape = column.shape}, column.doc);
    writeTextValues(dataset.get(), values);
}

void writeLongText(hid_t group, const std::string& name, const std::string& doc,
                   const std::string& text) {
    const Handle dataset = writeTextDataset(group, name, text);
    writeText(dataset.get(), "description", documentationOf(doc).description);
}

void checkLength(const std::string& name, std::size_t length, std::int64_t expected) {
    if (length != static_cast<std::size_t>(expected)) {
        throwInternal(fmt::format("The trace was given {} entries of {}; {} were expected.", length,
                                  name, expected));
    }
}

void writeRopes(hid_t group, const ModelRecord& model) {
    for (std::size_t i = 0; i < model.ropes.size(); ++i) {
        const RopeRecord& rope = model.ropes[i];
        const Column frequencies{group,
                                 ropeName("inverse_frequencies", i),
                                 "model/rope_inverse_frequencies",
                                 {std::ssize(rope.inverseFrequencies)}};
        writeColumn(frequencies, H5T_IEEE_F32LE, rope.inverseFrequencies);
        if (!rope.axes.empty()) {
            checkLength("rope_axes", rope.axes.size(), frequencies.shape[0]);
            writeColumn({group, ropeName("axes", i), "model/rope_axes", frequencies.shape},
                        H5T_STD_U8LE, rope.axes);
        }
        if (rope.attentionScaling != 1.0) {
            writeAttributes(group, {{ropeName("attention_scaling", i), rope.attentionScaling}});
        }
    }
    if (!model.ropeOfLayer.empty()) {
        writeColumn(
            {group, "rope_of_layer", "model/rope_of_layer", {std::ssize(model.ropeOfLayer)}},
            H5T_STD_U8LE, model.ropeOfLayer);
    }
}

void writeEvictions(hid_t parent, const EvictionRecord& evictions) {
    const std::int64_t count = std::ssize(evictions.step);
    if (count == 0) {
        return;
    }
    checkLength("evictions/layer", evictions.layer.size(), count);
    checkLength("evictions/kv_head", evictions.kvHead.size(), count);
    checkLength("evictions/position", evictions.position.size(), count);
    const Handle group = createGroup(parent, "evictions");
    const auto column = [&](const std::string& name) {
        return Column{group.get(), name, "decode/evictions/" + name, {count}};
    };
    writeColumn(column("step"), H5T_STD_I64LE, evictions.step);
    writeColumn(column("layer"), H5T_STD_I32LE, evictions.layer);
    writeColumn(column("kv_head"), H5T_STD_I32LE, evictions.kvHead);
    writeColumn(column("position"), H5T_STD_I64LE, evictions.position);
}

} // namespace

Handle createDocumented(hid_t group, const DatasetSpec& spec, const std::string& doc) {
    Handle dataset = createDataset(group, spec);
    const DatasetDoc text = documentationOf(doc);
    writeText(dataset.get(), "description", text.description);
    if (!text.unit.empty()) {
        writeText(dataset.get(), "units", text.unit);
    }
    if (!text.axes.empty()) {
        writeTexts(dataset.get(), "axes", text.axes);
    }
    if (!isScale(doc)) {
        attachScales(group, dataset.get(), text.axes);
    }
    return dataset;
}

void writeModelGroup(const FileContext& context, const ModelRecord& model) {
    const Handle group = openGroup(context.file, "model");
    writeAttributes(group.get(), model.attributes);
    writeLongText(group.get(), "config_json", "model/config_json", model.configJson);
    writeRopes(group.get(), model);
    const auto column = [&](const std::string& name, std::size_t length) {
        return Column{group.get(), name, "model/" + name, {static_cast<std::int64_t>(length)}};
    };
    if (!model.slidingWindows.empty()) {
        writeColumn(column("sliding_windows", model.slidingWindows.size()), H5T_STD_I64LE,
                    model.slidingWindows);
    }
    if (!model.linearLayers.empty()) {
        writeColumn(column("linear_layers", model.linearLayers.size()), H5T_STD_U8LE,
                    model.linearLayers);
    }
}

void writeRunGroup(const FileContext& context, const RunRecord& run) {
    const Handle group = openGroup(context.file, "run");
    writeAttributes(group.get(), run.attributes);
    writeLongText(group.get(), "arguments_json", "run/arguments_json", run.argumentsJson);
    writeLongText(group.get(), "log", "run/log", run.log);
}

void writePromptGroup(const FileContext& context, const PromptRecord& prompt) {
    const std::int64_t tokens = context.dimensions.tokens;
    checkLength("token_ids", prompt.tokenIds.size(), tokens);
    checkLength("token_text", prompt.tokenText.size(), tokens);
    checkLength("token_kind", prompt.tokenKind.size(), tokens);
    checkLength("image_index", prompt.imageIndex.size(), tokens);
    checkLength("patch_box", prompt.patchBox.size(), tokens);
    checkLength("patch_role", prompt.patchRole.size(), tokens);
    const Handle group = openGroup(context.file, "prompt");
    const auto column = [&](const std::string& name) {
        return Column{group.get(), name, "prompt/" + name, {tokens}};
    };
    writeLongText(group.get(), "text", "prompt/text", prompt.text);
    writeColumn(column("token_ids"), H5T_STD_I64LE, prompt.tokenIds);
    writeTextColumn(column("token_text"), prompt.tokenText);
    const Handle kind = enumType({"text", "special", "image"});
    const Handle role = enumType({"patch", "newline", "separator", "thumbnail"});
    const auto writeEnum = [&](const std::string& name, hid_t type,
                               const std::vector<std::uint8_t>& values) {
        const Handle dataset = createDocumented(
            group.get(), {.name = name, .type = type, .shape = {tokens}}, "prompt/" + name);
        writeSelection(dataset.get(), type, {{0}, {tokens}}, values.data());
    };
    writeEnum("token_kind", kind.get(), prompt.tokenKind);
    writeEnum("patch_role", role.get(), prompt.patchRole);
    writeColumn(column("image_index"), H5T_STD_I32LE, prompt.imageIndex);
    const Handle boxes = createDocumented(
        group.get(), {.name = "patch_box", .type = H5T_IEEE_F32LE, .shape = {tokens, 4}},
        "prompt/patch_box");
    writeSelection(boxes.get(), H5T_NATIVE_FLOAT, {{0, 0}, {tokens, 4}}, prompt.patchBox.data());
    if (!prompt.ropePositions.empty()) {
        checkLength("rope_positions", prompt.ropePositions.size(), tokens);
        const Handle positions = createDocumented(
            group.get(), {.name = "rope_positions", .type = H5T_STD_I32LE, .shape = {tokens, 3}},
            "prompt/rope_positions");
        writeSelection(positions.get(), H5T_NATIVE_INT32, {{0, 0}, {tokens, 3}},
                       prompt.ropePositions.data());
    }
}

void writeImageDataset(const FileContext& context, std::int64_t index, const ImageRecord& image) {
    checkLength("pixels", image.pixels.size(), image.height * image.width * 3);
    const Handle group = openGroup(context.file, "images");
    const DatasetSpec spec{.name = std::to_string(index),
                           .type = H5T_STD_U8LE,
                           .shape = {image.height, image.width, 3}};
    const Handle dataset = createDocumented(group.get(), spec, "images");
    writeValues(dataset.get(), std::span<const std::uint8_t>(image.pixels));
    writeFixedText(dataset.get(), "CLASS", "IMAGE");
    writeFixedText(dataset.get(), "IMAGE_VERSION", "1.2");
    writeFixedText(dataset.get(), "IMAGE_SUBCLASS", "IMAGE_TRUECOLOR");
    writeFixedText(dataset.get(), "INTERLACE_MODE", "INTERLACE_PIXEL");
    writeAttributes(dataset.get(), image.attributes);
}

void writePolicyGroup(const FileContext& context, const PolicyRecord& policy) {
    const Dimensions& d = context.dimensions;
    const std::vector<std::int64_t> heads{d.layers, d.kvHeads};
    checkLength("kept", policy.kept.size(), d.layers * d.kvHeads * d.tokens);
    checkLength("budget_per_head", policy.budgetPerHead.size(), d.layers * d.kvHeads);
    const Handle group = createGroup(context.file, "policies/" + policy.id);
    writeAttributes(group.get(), policy.attributes);
    DatasetSpec kept{.name = "kept",
                     .type = H5T_STD_U8LE,
                     .shape = {d.layers, d.kvHeads, d.tokens},
                     .deflate = context.compact};
    if (context.compact) {
        const std::uint64_t rowBytes = static_cast<std::uint64_t>(d.kvHeads);
        kept.chunk = {1, d.kvHeads, tokensPerChunk(d.tokens, rowBytes)};
    }
    const Handle dataset = createDocumented(group.get(), kept, "policies/kept");
    writeValues(dataset.get(), std::span<const std::uint8_t>(policy.kept));
    writeColumn({group.get(), "budget_per_head", "policies/budget_per_head", heads}, H5T_STD_I32LE,
                policy.budgetPerHead);
    for (const auto& [name, values] : {std::pair{"output_error", &policy.outputError},
                                       std::pair{"retained_mass", &policy.retainedMass},
                                       std::pair{"measured_error", &policy.measuredError}}) {
        if (!values->empty()) {
            writeColumn({group.get(), name, std::string("policies/") + name, heads}, H5T_IEEE_F32LE,
                        *values);
        }
    }
}

void writeDecodeGroup(const FileContext& context, const std::string& path,
                      const DecodeRecord& decode) {
    const auto steps = static_cast<std::int64_t>(decode.tokenIds.size());
    checkLength("token_text", decode.tokenText.size(), steps);
    const Handle group = hasLink(context.file, path) ? openGroup(context.file, path)
                                                     : createGroup(context.file, path);
    writeAttributes(group.get(), decode.attributes);
    const auto column = [&](const std::string& name) {
        return Column{group.get(), name, "decode/" + name, {steps}};
    };
    std::vector<std::int64_t> step(decode.tokenIds.size());
    std::iota(step.begin(), step.end(), 0);
    writeColumn(column("step"), H5T_STD_I64LE, step);
    const Handle scale = openDataset(group.get(), "step");
    check(H5DSset_scale(scale.get(), "step"), scale.get(), "make a dimension scale");
    writeColumn(column("token_ids"), H5T_STD_I64LE, decode.tokenIds);
    writeTextColumn(column("token_text"), decode.tokenText);
    if (!decode.logprob.empty()) {
        checkLength("logprob", decode.logprob.size(), steps);
        writeColumn(column("logprob"), H5T_IEEE_F32LE, decode.logprob);
    }
    if (!decode.questionIds.empty()) {
        writeColumn(
            {group.get(), "question_ids", "decode/question_ids", {std::ssize(decode.questionIds)}},
            H5T_STD_I64LE, decode.questionIds);
    }
    if (!decode.keptLength.empty()) {
        const Dimensions& d = context.dimensions;
        checkLength("kept_length", decode.keptLength.size(), steps * d.layers * d.kvHeads);
        writeColumn(
            {group.get(), "kept_length", "decode/kept_length", {steps, d.layers, d.kvHeads}},
            H5T_STD_I32LE, decode.keptLength);
    }
    writeEvictions(group.get(), decode.evictions);
}

void writeForcedGroup(const FileContext& context, const std::string& path,
                      const ForcedRecord& forced) {
    const auto steps = static_cast<std::int64_t>(forced.kl.size());
    checkLength("top1_agree", forced.top1Agree.size(), steps);
    checkLength("forced_logprob", forced.logprob.size(), steps);
    const Handle group = hasLink(context.file, path) ? openGroup(context.file, path)
                                                     : createGroup(context.file, path);
    const auto column = [&](const std::string& name) {
        return Column{group.get(), name, "forced/" + name, {steps}};
    };
    writeColumn(column("kl"), H5T_IEEE_F32LE, forced.kl);
    writeColumn(column("top1_agree"), H5T_STD_U8LE, forced.top1Agree);
    writeColumn(column("forced_logprob"), H5T_IEEE_F32LE, forced.logprob);
}

} // namespace ecokv::trace
