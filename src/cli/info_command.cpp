// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/trace_abilities.h"
#include "base/error.h"
#include "cli/commands.h"
#include "cli/generation_report.h"
#include "cli/json_text.h"
#include "cli/run_report.h"
#include "cli/text_table.h"
#include "session/engine.h"
#include "trace/cache_file.h"
#include "trace/trace_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>

namespace ecokv::cli {

namespace {

using Json = nlohmann::json;

constexpr const char* kExamples = "Examples:\n"
                                  "  ecokv info out.ecokv.h5\n"
                                  "  ecokv info resources/demo-model\n"
                                  "  ecokv info out.ecokv.h5 --json";

struct InfoOptions {
    std::filesystem::path path;
    bool json = false;
};

std::string attributeText(const trace::Attribute& attribute) {
    return std::visit([](const auto& value) { return fmt::format("{}", value); }, attribute);
}

Json attributesJson(const trace::Attributes& attributes) {
    Json json = Json::object();
    for (const auto& [name, value] : attributes) {
        std::visit([&json, &name = name](const auto& plain) { json[name] = plain; }, value);
    }
    return json;
}

/// The policy's attributes, its generation and the questions it answered.
Json policyJson(const trace::TraceReader& reader, const std::string& id) {
    Json json = attributesJson(reader.policy(id).attributes);
    json.update(generationsJson(reader, id));
    return json;
}

Json traceJson(const trace::TraceReader& reader) {
    const trace::Dimensions& d = reader.dimensions();
    Json json{{"kind", "trace"},
              {"path", reader.path().string()},
              {"complete", reader.complete()},
              {"problems", reader.problems()},
              {"dimensions",
               {{"layers", d.layers},
                {"heads", d.heads},
                {"kv_heads", d.kvHeads},
                {"tokens", d.tokens},
                {"head_dim", d.headDim},
                {"window", d.window}}},
              {"root", attributesJson(reader.rootAttributes())},
              {"policies", Json::object()},
              {"datasets", Json::array()}};
    const analysis::TraceNature nature = analysis::describeTrace(reader);
    json["nature"] = nature.kind;
    for (const analysis::TraceAbility& ability : nature.abilities) {
        json["abilities"].push_back({{"what", ability.what},
                                     {"works", ability.works},
                                     {ability.works ? "detail" : "why", ability.detail}});
    }
    if (const auto model = reader.model()) {
        json["model"] = attributesJson(model->attributes);
    }
    if (const auto run = reader.run()) {
        json["run"] = attributesJson(run->attributes);
    }
    for (const std::string& id : reader.policyIds()) {
        json["policies"][id] = policyJson(reader, id);
    }
    for (const trace::DatasetEntry& entry : reader.entries()) {
        json["datasets"].push_back({{"path", entry.path},
                                    {"shape", entry.shape},
                                    {"dtype", entry.dtype},
                                    {"description", entry.description},
                                    {"stored_bytes", entry.storedBytes},
                                    {"problem", entry.problem}});
    }
    return json;
}

void printAttributes(const char* title, const trace::Attributes& attributes) {
    fmt::print("\n{}\n", title);
    for (const auto& [name, value] : attributes) {
        const std::string text = attributeText(value);
        if (!text.empty()) {
            fmt::print("  {:<26} {}\n", name, text);
        }
    }
}

void printAbilities(const analysis::TraceNature& nature) {
    TextTable table(4);
    for (const analysis::TraceAbility& ability : nature.abilities) {
        table.addRow({" ", ability.what, ability.works ? "yes" : "no", ability.detail});
    }
    fmt::print("What it is good for\n{}", table.text());
}

/// Head metrics of un-rotated keys, of image or text tokens: too many to list one by one.
bool isOfSomeKeys(const trace::DatasetEntry& entry) {
    const auto ends = [&](const char* ending) { return entry.path.ends_with(ending); };
    return entry.path.starts_with("/heads/") && entry.problem.empty() &&
           (ends("_pre") || ends("_image") || ends("_text"));
}

void printTrace(const trace::TraceReader& reader) {
    const trace::Dimensions& d = reader.dimensions();
    fmt::print("Trace {} ({})\n", reader.path().string(),
               reader.complete() ? "complete" : "incomplete");
    const analysis::TraceNature nature = analysis::describeTrace(reader);
    fmt::print("  {}\n", nature.kind);
    if (reader.has("tensors/keys")) {
        fmt::print("  {} layers, {} query heads, {} KV heads, {} tokens, {} dims, {} window rows\n",
                   d.layers, d.heads, d.kvHeads, d.tokens, d.headDim, d.window);
    } else {
        fmt::print("  {} layers, {} KV heads, {} tokens\n", d.layers, d.kvHeads, d.tokens);
    }
    printAbilities(nature);
    for (const std::string& problem : reader.problems()) {
        fmt::print("  problem: {}\n", problem);
    }
    if (const auto model = reader.model()) {
        printAttributes("Model", model->attributes);
    }
    if (const auto run = reader.run()) {
        printAttributes("Run", run->attributes);
    }
    for (const std::string& id : reader.policyIds()) {
        printAttributes(("Policy " + id).c_str(), reader.policy(id).attributes);
        fmt::print("{}", generationsText(reader, id));
    }
    fmt::print("\nDatasets\n");
    std::int64_t alike = 0;
    for (const trace::DatasetEntry& entry : reader.entries()) {
        if (isOfSomeKeys(entry)) {
            ++alike;
            continue;
        }
        fmt::print("  {:<40} {:<10} [{}]  {}{}\n", entry.path, entry.dtype,
                   fmt::join(entry.shape, ", "), byteText(static_cast<double>(entry.storedBytes)),
                   entry.problem.empty() ? "" : "  problem: " + entry.problem);
    }
    if (alike > 0) {
        fmt::print("  and {} of the same metrics in /heads: _pre = RoPE undone, _image and _text = "
                   "of such tokens\n",
                   alike);
    }
}

void describeCache(const InfoOptions& options) {
    const trace::CacheFileReader reader(options.path);
    const trace::CacheRecord& record = reader.record();
    if (options.json) {
        const Json json{{"kind", "saved cache"},
                        {"path", options.path.string()},
                        {"producer", record.producer},
                        {"dimensions",
                         {{"layers", record.layers},
                          {"heads", record.heads},
                          {"kv_heads", record.kvHeads},
                          {"head_dim", record.headDim}}},
                        {"dtype", dtypeName(record.dtype)},
                        {"tokens_seen", record.tokensSeen},
                        {"image_tokens", record.imageTokens},
                        {"prompt", record.promptText},
                        {"model", attributesJson(record.model)},
                        {"policy", attributesJson(record.policy)}};
        fmt::print("{}\n", jsonText(json));
        return;
    }
    fmt::print("Saved cache {}\n  {} layers, {} query heads, {} KV heads, {} dims as {}\n"
               "  of {} tokens, {} of pictures\n",
               options.path.string(), record.layers, record.heads, record.kvHeads, record.headDim,
               dtypeName(record.dtype), record.tokensSeen, record.imageTokens);
    printAttributes("Model", record.model);
    printAttributes("Policy", record.policy);
}

void describeModel(const InfoOptions& options) {
    const session::ModelSummary model = session::loadEngine()->describe(options.path);
    if (options.json) {
        Json details = Json::object();
        for (const auto& [label, value] : model.details) {
            details[label] = value;
        }
        const Json json{{"kind", "model"},
                        {"name", model.name},
                        {"path", model.path},
                        {"family", model.family},
                        {"architecture", model.architecture},
                        {"layers", model.layers},
                        {"heads", model.heads},
                        {"kv_heads", model.kvHeads},
                        {"head_dim", model.headDim},
                        {"image_tokens_per_picture", model.imageTokensPerPicture},
                        {"parameters", model.parameters},
                        {"weight_bytes", model.weightBytes},
                        {"max_positions", model.maxPositions},
                        {"dtype", model.dtype},
                        {"details", details}};
        fmt::print("{}\n", json.dump());
        return;
    }
    fmt::print("Model {} ({})\n", model.name, model.path);
    for (const auto& [label, value] : model.details) {
        fmt::print("  {:<16} {}\n", label, value);
    }
}

void infoCommand(const InfoOptions& options) {
    if (!std::filesystem::exists(options.path)) {
        throwBadInput(fmt::format("{} does not exist.", options.path.string()),
                      "Give a trace file (*.ecokv.h5) or a model folder.");
    }
    if (std::filesystem::is_directory(options.path)) {
        describeModel(options);
        return;
    }
    if (trace::isCacheFile(options.path)) {
        describeCache(options);
        return;
    }
    const trace::TraceReader reader(options.path);
    if (options.json) {
        fmt::print("{}\n", jsonText(traceJson(reader)));
    } else {
        printTrace(reader);
    }
}

} // namespace

void addInfoCommand(CLI::App& app) {
    CLI::App* info = app.add_subcommand("info", "Describe a trace file or a model folder");
    const auto options = std::make_shared<InfoOptions>();
    info->add_option("path", options->path, "Trace (*.ecokv.h5) or model folder")->required();
    info->add_flag("--json", options->json, "One JSON object on stdout");
    info->footer(kExamples);
    info->callback([options] { infoCommand(*options); });
}

} // namespace ecokv::cli
