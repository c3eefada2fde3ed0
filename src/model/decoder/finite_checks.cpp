// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/decoder/finite_checks.h"

#include "base/error.h"

#include <ATen/ops/isfinite.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace ecokv::model {

namespace {

constexpr const char* kDamaged =
    "The file is damaged or was converted wrongly: download the checkpoint again.";
constexpr const char* kCheckFile =
    "Check the checkpoint: it may be damaged, or its config.json of another model.";

std::string adviceFor(c10::ScalarType computed) {
    return computed == c10::kFloat
               ? kCheckFile
               : std::string("Try --dtype f32: half precision may be too narrow. ") + kCheckFile;
}

} // namespace

std::string damagedPart(const LayerWeights& layer) {
    if (layer.deltaNet) {
        if (const std::string part = layer.deltaNet->damagedPart(); !part.empty()) {
            return part;
        }
    }
    const std::array<std::pair<const char*, const Linear*>, 7> kProjections{
        {{"query projection", &layer.query},
         {"key projection", &layer.key},
         {"value projection", &layer.value},
         {"output projection", &layer.output},
         {"MLP gate projection", &layer.gate},
         {"MLP up projection", &layer.up},
         {"MLP down projection", &layer.down}}};
    const std::array<std::pair<const char*, const RmsNorm*>, 6> kNorms{
        {{"norm in front of the attention", &layer.attentionNorm},
         {"norm in front of the MLP", &layer.mlpNorm},
         {"norm behind the attention", &layer.behindAttention},
         {"norm behind the MLP", &layer.behindMlp},
         {"norm of the queries", &layer.queryNorm},
         {"norm of the keys", &layer.keyNorm}}};
    for (const auto& [name, part] : kProjections) {
        if (!isFinite(part->weight) || !isFinite(part->bias)) {
            return name;
        }
    }
    for (const auto& [name, part] : kNorms) {
        if (!isFinite(part->weight)) {
            return name;
        }
    }
    return {};
}

std::string damagedPart(const RmsNorm& finalNorm, const Linear& head) {
    if (!isFinite(finalNorm.weight)) {
        return "final norm";
    }
    return isFinite(head.weight) && isFinite(head.bias) ? "" : "output head";
}

void throwDamaged(const std::string& where, const std::string& part) {
    throwBadInput(fmt::format("{} computes numbers that are not finite (NaN or Inf): the weights "
                              "of its {} hold some.",
                              where, part),
                  kDamaged);
}

bool isFinite(const at::Tensor& values) {
    if (!values.defined() || values.numel() == 0) {
        return true;
    }
    // NaN and Inf never leave a sum; one that is too large by itself is looked at again.
    return std::isfinite(values.sum().item<double>()) || at::isfinite(values).all().item<bool>();
}

void throwNotFinite(const std::string& what, c10::ScalarType computed) {
    throwBadInput(fmt::format("{} hold numbers that are not finite (NaN or Inf).", what),
                  adviceFor(computed));
}

void requireFinite(LayerId layer, const LayerWeights& weights,
                   std::initializer_list<at::Tensor> values) {
    if (std::ranges::all_of(values, isFinite)) {
        return;
    }
    const std::string part = damagedPart(weights);
    if (!part.empty()) {
        throwDamaged(fmt::format("Layer {}", layer.value), part);
    }
    throwBadInput(fmt::format("Layer {} is the first to compute numbers that are not finite (NaN "
                              "or Inf).",
                              layer.value),
                  adviceFor(values.begin()->scalar_type()));
}

} // namespace ecokv::model
