// SPDX-License-Identifier: GPL-3.0-or-later
// Lets an oracle in another language drive the policies: reads one layer from a raw float32 file
// (layer 0 of so many) and prints kept sets and scores as JSON, one object per policy. Positions
// are 0 .. tokens - 1.
//
//   ecokv_policy_probe FILE kvHeads group tokens rows dim layers POLICY...
//
// FILE holds keys [kvHead, token, dim], values [kvHead, token, dim] and queries
// [kvHead * group, row, dim] one after the other, little endian.
#include "base/error.h"
#include "policy/geometry_metrics.h"
#include "policy/policy.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <iostream>
#include <numeric>

namespace {

using namespace ecokv;
using nlohmann::json;

struct Tensors {
    std::int64_t kvHeads = 0, group = 0, tokens = 0, rows = 0, dim = 0;
    std::vector<float> keys, values, queries;
    std::vector<std::int64_t> positions;

    policy::LayerInput input() {
        policy::LayerInput layer;
        layer.keys = TensorView::contiguous(keys.data(), DType::F32, {kvHeads, tokens, dim});
        layer.values = TensorView::contiguous(values.data(), DType::F32, {kvHeads, tokens, dim});
        layer.windowQueries =
            TensorView::contiguous(queries.data(), DType::F32, {kvHeads * group, rows, dim});
        layer.positions = positions;
        layer.windowPositions =
            std::span<const std::int64_t>(positions).last(static_cast<std::size_t>(rows));
        return layer;
    }
};

void readFloats(std::ifstream& file, const char* path, std::int64_t count,
                std::vector<float>& numbers) {
    numbers.resize(static_cast<std::size_t>(count));
    file.read(reinterpret_cast<char*>(numbers.data()),
              static_cast<std::streamsize>(numbers.size() * sizeof(float)));
    if (!file) {
        throwBadInput(std::string("The file ") + path + " is shorter than its tensors.");
    }
}

Tensors readTensors(char** arguments) {
    Tensors tensors;
    std::int64_t* sizes[] = {&tensors.kvHeads, &tensors.group, &tensors.tokens, &tensors.rows,
                             &tensors.dim};
    for (std::int64_t* size : sizes) {
        *size = std::stoll(*++arguments);
    }
    const char* path = arguments[-5];
    std::ifstream file(path, std::ios::binary);
    readFloats(file, path, tensors.kvHeads * tensors.tokens * tensors.dim, tensors.keys);
    readFloats(file, path, tensors.kvHeads * tensors.tokens * tensors.dim, tensors.values);
    readFloats(file, path, tensors.kvHeads * tensors.group * tensors.rows * tensors.dim,
               tensors.queries);
    tensors.positions.resize(static_cast<std::size_t>(tensors.tokens));
    std::iota(tensors.positions.begin(), tensors.positions.end(), 0);
    return tensors;
}

/// [kvHead, token] as a list per head; NaN becomes null.
json perHead(const std::vector<float>& numbers, std::int64_t tokens) {
    json heads = json::array();
    for (auto begin = numbers.begin(); begin != numbers.end(); begin += tokens) {
        heads.push_back(std::vector<float>(begin, begin + tokens));
    }
    return heads;
}

json evaluate(Tensors& tensors, std::int32_t layers, const std::string& text) {
    const policy::ModelShape shape{layers, static_cast<std::int32_t>(tensors.kvHeads), "probe"};
    const auto resolved = policy::resolve(policy::parsePolicy(text), tensors.tokens, shape);
    const policy::LayerInput input = tensors.input();
    const auto scores = policy::scoreLayer(input, resolved, kernels::Backend::Cpu);
    const policy::GeometryMeter meter(
        {.tokens = tensors.tokens, .dim = tensors.dim, .candidates = resolved.candidates()});
    const auto geometry =
        policy::geometryMetrics(meter.measure(input.layer, input.keys, policy::Spectra::None));
    return {
        {"policy", text},
        {"window", resolved.window},
        {"recent", resolved.recent},
        {"sink", resolved.sink},
        {"compressed", resolved.compresses},
        {"note", resolved.note},
        {"budget", resolved.budget},
        {"head_budgets", resolved.headBudgets},
        {"kept", policy::planLayer(scores, resolved).keptRows},
        {"score", perHead(scores.score, tensors.tokens)},
        {"importance", perHead(scores.importance, tensors.tokens)},
        {"redundancy", scores.redundancy},
        {"redundancy_cosine", scores.redundancyCosine},
        {"redundancy_euclid", scores.redundancyEuclid},
        {"participation_ratio", geometry.at("participation_ratio")},
        {"notes", scores.notes},
    };
}

} // namespace

int main(int count, char** arguments) {
    if (count < 9) {
        std::cerr << "usage: ecokv_policy_probe FILE kvHeads group tokens rows dim layers "
                     "POLICY...\n";
        return 2;
    }
    try {
        Tensors tensors = readTensors(arguments + 1);
        json results = json::array();
        const std::int32_t layers = std::stoi(arguments[7]);
        for (int i = 8; i < count; ++i) {
            results.push_back(evaluate(tensors, layers, arguments[i]));
        }
        std::cout << results.dump() << '\n';
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 3;
    }
    return 0;
}
