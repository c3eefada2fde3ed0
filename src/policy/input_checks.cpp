// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/input_checks.h"

#include "base/error.h"

#include <fmt/format.h>

namespace ecokv::policy {

namespace {

void checkRanks(const LayerInput& input) {
    if (input.keys.rank != 3 || input.windowQueries.rank != 3) {
        refuseLayer(input,
                    fmt::format("keys must be [kvHead, token, dim] and window queries [head, "
                                "row, dim], not {} and {}",
                                input.keys.describe(), input.windowQueries.describe()));
    }
}

} // namespace

void refuseLayer(const LayerInput& input, const std::string& why, const std::string& advice) {
    throwBadInput(fmt::format("Layer {} cannot be scored: {}.", input.layer.value, why), advice);
}

void checkKeys(const LayerInput& input, Geometry geometry) {
    if (input.keys.rank != 3 || input.keys.shape[0] < 1) {
        refuseLayer(
            input, fmt::format("keys must be [kvHead, token, dim], not {}", input.keys.describe()));
    }
    if (geometry == Geometry::Pre &&
        (input.rotation == nullptr ||
         (input.rotation->positions == nullptr && input.rotation->axisPositions == nullptr))) {
        refuseLayer(input, "geometry 'pre' needs to know how the keys were rotated",
                    "Use geometry=post, or a trace that names rope_theta and rope_style.");
    }
}

void checkWindow(const LayerInput& input, std::int64_t window) {
    checkRanks(input);
    const TensorView& keys = input.keys;
    const TensorView& queries = input.windowQueries;
    if (keys.shape[0] < 1 || queries.shape[0] % keys.shape[0] != 0 || queries.shape[0] == 0) {
        refuseLayer(input, fmt::format("{} query heads cannot be shared out to {} KV heads",
                                       queries.shape[0], keys.shape[0]));
    }
    if (queries.shape[2] != keys.shape[2]) {
        refuseLayer(input, fmt::format("queries have {} dimensions and keys {}", queries.shape[2],
                                       keys.shape[2]));
    }
    const std::int64_t tokens = keys.shape[1];
    const std::int64_t rows = queries.shape[1];
    if (static_cast<std::int64_t>(input.positions.size()) != tokens ||
        static_cast<std::int64_t>(input.windowPositions.size()) != rows) {
        refuseLayer(
            input, fmt::format("{} token positions and {} window positions were given for {} "
                               "tokens and {} window rows",
                               input.positions.size(), input.windowPositions.size(), tokens, rows));
    }
    if (rows < window) {
        refuseLayer(
            input,
            fmt::format("it has {} query rows and the observation window needs {}", rows, window),
            "Use a smaller window, or record more rows.");
    }
}

void checkValues(const LayerInput& input) {
    const TensorView& keys = input.keys;
    const TensorView& values = input.values;
    if (values.data != nullptr && (values.rank != 3 || values.shape[0] != keys.shape[0] ||
                                   values.shape[1] != keys.shape[1])) {
        refuseLayer(
            input, fmt::format("values are {} beside keys {}", values.describe(), keys.describe()));
    }
}

} // namespace ecokv::policy
