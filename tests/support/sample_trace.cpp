// SPDX-License-Identifier: GPL-3.0-or-later
#include "support/sample_trace.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <stdexcept>

namespace ecokv::test {

namespace {

constexpr std::int64_t kFirstPatch = 4, kPatches = 12, kProtected = 4;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

float wave(std::int64_t seed) {
    return std::sin(0.7F * static_cast<float>(seed % 1009));
}

std::vector<float> fill(std::int64_t heads, std::int64_t rows, std::int64_t dims, auto formula) {
    std::vector<float> values;
    values.reserve(static_cast<std::size_t>(heads * rows * dims));
    for (std::int64_t head = 0; head < heads; ++head) {
        for (std::int64_t row = 0; row < rows; ++row) {
            for (std::int64_t dim = 0; dim < dims; ++dim) {
                values.push_back(formula(head, row, dim));
            }
        }
    }
    return values;
}

std::map<std::string, std::vector<float>> sampleHeads(std::int64_t kvHeads, std::int64_t layer) {
    std::map<std::string, std::vector<float>> heads;
    for (std::int64_t head = 0; head < kvHeads; ++head) {
        const float redundancy = sampleRedundancy(layer, head);
        heads["redundancy"].push_back(redundancy);
        heads["redundancy_cosine"].push_back(redundancy + 0.01F);
        heads["redundancy_euclid"].push_back(redundancy - 0.01F);
        heads["anisotropy"].push_back(std::sqrt(redundancy));
        heads["participation_ratio"].push_back(3.0F + static_cast<float>(layer));
        heads["mean_key_norm"].push_back(2.0F);
    }
    return heads;
}

std::map<std::string, std::vector<float>> sampleScores(const trace::Dimensions& d,
                                                       std::int64_t layer) {
    std::map<std::string, std::vector<float>> scores;
    for (std::int64_t head = 0; head < d.kvHeads; ++head) {
        for (std::int64_t token = 0; token < d.tokens; ++token) {
            const bool candidate = token < d.tokens - kProtected;
            const float importance = candidate ? sampleImportance(layer, head, token) : kNaN;
            const float diversity = candidate ? sampleDiversity(layer, head, token) : kNaN;
            scores["importance"].push_back(importance);
            scores["diversity"].push_back(diversity);
            scores["diversity_cosine"].push_back(diversity * 0.5F);
            scores["diversity_euclid"].push_back(diversity * diversity);
            scores["score"].push_back(0.5F * importance + 0.5F * diversity);
            scores["key_norm"].push_back(1.0F + 0.1F * static_cast<float>(token));
            scores["value_norm"].push_back(2.0F + 0.1F * static_cast<float>(token));
        }
    }
    return scores;
}

trace::PolicyRecord samplePolicy(const trace::Dimensions& d, const std::string& id) {
    trace::PolicyRecord policy;
    policy.id = id;
    policy.attributes = {{"policy", std::string(id == "0" ? "ecokv" : "streaming")},
                         {"allocator", std::string("uniform")},
                         {"budget", std::int64_t{id == "0" ? 13 : 9}},
                         {"window", std::int64_t{6}},
                         {"recent", std::int64_t{4}},
                         {"sink", std::int64_t{0}},
                         {"alpha", 0.5},
                         {"kept_bytes", std::int64_t{4096}}};
    for (std::int64_t layer = 0; layer < d.layers; ++layer) {
        for (std::int64_t head = 0; head < d.kvHeads; ++head) {
            std::int32_t kept = 0;
            for (std::int64_t token = 0; token < d.tokens; ++token) {
                const bool survives = sampleKept(id, layer, head, token);
                policy.kept.push_back(survives ? 1 : 0);
                kept += survives ? 1 : 0;
            }
            policy.budgetPerHead.push_back(kept);
            policy.outputError.push_back(0.01F * static_cast<float>(layer + 1));
            policy.retainedMass.push_back(0.9F);
        }
    }
    return policy;
}

trace::DecodeRecord sampleDecode(const std::string& answer) {
    trace::DecodeRecord decode;
    for (const char c : answer) {
        decode.tokenIds.push_back(c);
        decode.tokenText.emplace_back(1, c);
        decode.logprob.push_back(-0.25F);
    }
    decode.attributes = {{"answer", answer}, {"tokens_per_second", 120.5}};
    return decode;
}

void writeRest(trace::TraceWriter& writer, const trace::Dimensions& d) {
    for (const std::string id : {"0", "1"}) {
        writer.writePolicy(samplePolicy(d, id));
        writer.writePolicyDecode(id, sampleDecode(id == "0" ? "407" : "4"));
    }
    writer.writeDecode(sampleDecode("407"));
    writer.writeRun({{{"seed", std::int64_t{7}},
                      {"threads", std::int64_t{2}},
                      {"device", std::string("cpu")},
                      {"prefill_seconds", 0.125}},
                     R"({"prompt":"What is A?"})",
                     "prefill done\n"});
}

} // namespace

float sampleKey(std::int64_t layer, std::int64_t kvHead, std::int64_t token, std::int64_t dim) {
    return wave(1 + layer * 97 + kvHead * 31 + token * 7 + dim * 3);
}

float sampleValue(std::int64_t layer, std::int64_t kvHead, std::int64_t token, std::int64_t dim) {
    return 2.0F * wave(500 + layer * 89 + kvHead * 37 + token * 11 + dim * 5);
}

float sampleQuery(std::int64_t layer, std::int64_t head, std::int64_t row, std::int64_t dim) {
    return 0.5F * wave(900 + layer * 83 + head * 41 + row * 13 + dim * 2);
}

float sampleImportance(std::int64_t layer, std::int64_t kvHead, std::int64_t token) {
    return 0.01F * static_cast<float>(1 + (token * 7 + layer * 5 + kvHead * 3) % 30);
}

float sampleDiversity(std::int64_t layer, std::int64_t kvHead, std::int64_t token) {
    return static_cast<float>((token * 11 + layer + kvHead * 13) % 30) / 29.0F;
}

float sampleRedundancy(std::int64_t layer, std::int64_t kvHead) {
    return 0.1F + 0.2F * static_cast<float>(layer) + 0.05F * static_cast<float>(kvHead);
}

bool sampleKept(const std::string& policy, std::int64_t layer, std::int64_t kvHead,
                std::int64_t token) {
    if (token >= 26) {
        return true;
    }
    return policy == "0" ? (token + layer + kvHead) % 3 == 0 : token < 5;
}

trace::WriterOptions sampleWriterOptions(const std::filesystem::path& path,
                                         const SampleOptions& options) {
    trace::WriterOptions writer;
    writer.path = path;
    writer.dimensions = options.dimensions;
    writer.tensorDType = options.storage;
    writer.recordValues = options.recordValues;
    writer.compact = options.compact;
    writer.producer = "sample 1";
    return writer;
}

trace::PromptRecord samplePrompt(std::int64_t tokens) {
    trace::PromptRecord prompt;
    prompt.text = "<s>USER: <image>\nWhat is A? ASSISTANT:";
    for (std::int64_t token = 0; token < tokens; ++token) {
        const bool patch = token >= kFirstPatch && token < kFirstPatch + kPatches;
        prompt.tokenIds.push_back(100 + token);
        prompt.tokenText.push_back(patch ? "" : token == 0 ? "<s>" : fmt::format("w{}", token));
        prompt.tokenKind.push_back(patch ? 2 : token == 0 ? 1 : 0);
        prompt.imageIndex.push_back(patch ? 0 : -1);
        prompt.patchRole.push_back(0);
        if (patch) { // 4 columns x 3 rows over 24 x 16 pixels
            const auto column = static_cast<float>((token - kFirstPatch) % 4);
            const auto row = static_cast<float>((token - kFirstPatch) / 4);
            prompt.patchBox.push_back(
                {6 * column, 16 * row / 3, 6 * column + 6, 16 * (row + 1) / 3});
        } else {
            prompt.patchBox.push_back({kNaN, kNaN, kNaN, kNaN});
        }
    }
    return prompt;
}

trace::ImageRecord sampleImage() {
    trace::ImageRecord image;
    image.width = 24;
    image.height = 16;
    for (int y = 0; y < 16; ++y) {
        for (int x = 0; x < 24; ++x) {
            image.pixels.push_back(static_cast<std::uint8_t>(x * 10));
            image.pixels.push_back(static_cast<std::uint8_t>(y * 15));
            image.pixels.push_back(static_cast<std::uint8_t>(128));
        }
    }
    image.attributes = {{"sha256", std::string("00ff")},
                        {"source_basename", std::string("sample.png")},
                        {"orientation", std::int64_t{1}},
                        {"grid_rows", std::int64_t{3}},
                        {"grid_columns", std::int64_t{4}}};
    return image;
}

void writeSampleLayer(trace::TraceWriter& writer, const SampleOptions& options,
                      std::int64_t layer) {
    const trace::Dimensions& d = options.dimensions;
    const auto bind = [layer](auto formula) {
        return [layer, formula](std::int64_t head, std::int64_t row, std::int64_t dim) {
            return formula(layer, head, row, dim);
        };
    };
    auto keys = fill(d.kvHeads, d.tokens, d.headDim, bind(sampleKey));
    auto values = fill(d.kvHeads, d.tokens, d.headDim, bind(sampleValue));
    auto queries = fill(d.heads, d.window, d.headDim, bind(sampleQuery));
    trace::LayerRecord record;
    record.layer = layer;
    record.keys = TensorView::contiguous(keys.data(), DType::F32, {d.kvHeads, d.tokens, d.headDim});
    if (options.recordValues) {
        record.values =
            TensorView::contiguous(values.data(), DType::F32, {d.kvHeads, d.tokens, d.headDim});
    }
    record.windowQueries =
        TensorView::contiguous(queries.data(), DType::F32, {d.heads, d.window, d.headDim});
    record.heads = sampleHeads(d.kvHeads, layer);
    record.scores = sampleScores(d, layer);
    writer.writeLayer(record);
}

std::filesystem::path writeSampleTrace(const std::filesystem::path& path,
                                       const SampleOptions& options) {
    const trace::Dimensions& d = options.dimensions;
    const bool partial = options.layersWritten >= 0;
    trace::TraceWriter writer(sampleWriterOptions(path, options));
    writer.writeModel({{{"name", std::string("sample")},
                        {"family", std::string("llava")},
                        {"rope_theta", 10000.0},
                        {"rope_style", std::string("half")},
                        {"n_layers", d.layers}},
                       R"({"model_type":"llava"})"});
    writer.writePrompt(samplePrompt(d.tokens));
    writer.writeImage(0, sampleImage());
    const std::int64_t layers = partial ? options.layersWritten : d.layers;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
        writeSampleLayer(writer, options, layer);
    }
    if (partial) {
        return path.string() + ".part";
    }
    writeRest(writer, d);
    writer.close();
    return path;
}

TemporaryFolder::TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ecokv-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
        throw std::runtime_error("no temporary folder could be made");
    }
    m_path = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(m_path, error);
}

} // namespace ecokv::test
