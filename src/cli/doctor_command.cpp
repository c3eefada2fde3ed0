// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "cli/commands.h"
#include "cli/json_text.h"
#include "cli/picture_options.h"
#include "cli/policy_options.h"
#include "session/engine.h"

#include <fmt/format.h>

#include <memory>
#include <string>

namespace ecokv::cli {

namespace {

using Json = nlohmann::json;

constexpr const char* kExamples =
    "Examples:\n"
    "  ecokv doctor resources/demo-model\n"
    "  ecokv doctor MODEL --image a.jpg --prompt \"What is this?\" --budget 256\n"
    "  ecokv doctor MODEL --json\n"
    "Exit codes: 0 a run would work, 3 it would be refused; every reason is listed.";

struct DoctorOptions {
    session::DoctorRequest request;
    PictureOptions pictures;
    std::string device = "auto", dtype = "auto";
    bool json = false, plain = false;
};

const char* markOf(Severity severity) {
    switch (severity) {
    case Severity::Good:
        return "ok";
    case Severity::Note:
        return "note";
    case Severity::Problem:
        break;
    }
    return "NO";
}

const char* nameOf(Severity severity) {
    return severity == Severity::Good ? "ok" : severity == Severity::Note ? "note" : "problem";
}

Json memoryJson(const session::MemoryForecast& memory) {
    return {{"weights", memory.weights},      {"weights_are_mapped", memory.weightsStayOnDisk},
            {"full_layer", memory.fullLayer}, {"kept_cache", memory.keptCache},
            {"full_cache", memory.fullCache}, {"answer_cache", memory.answerCache},
            {"working", memory.working},      {"pictures", memory.pictures},
            {"tower", memory.tower},          {"besides_weights", memory.besidesWeights()},
            {"total", memory.total()},        {"available", memory.available}};
}

Json reportJson(const session::DoctorReport& report) {
    Json json{{"ok", report.ok()},
              {"problems", report.problems()},
              {"model", report.model},
              {"family", report.family},
              {"architecture", report.architecture},
              {"parameters", report.parameters},
              {"weight_bytes", report.weightBytes},
              {"stored_dtype", report.storedDType},
              {"compute_dtype", report.computeDType},
              {"device", report.device},
              {"prompt_tokens", report.promptTokens},
              {"image_tokens", report.imageTokens},
              {"cache_bytes_per_token", report.cacheBytesPerToken},
              {"memory", report.memory ? memoryJson(*report.memory) : Json(nullptr)},
              {"pictures", Json::array()},
              {"findings", Json::array()}};
    for (const session::DoctorPicture& picture : report.pictures) {
        json["pictures"].push_back({{"path", picture.path},
                                    {"width", picture.width},
                                    {"height", picture.height},
                                    {"resized_width", picture.resizedWidth},
                                    {"resized_height", picture.resizedHeight},
                                    {"transparency", picture.transparency},
                                    {"tokens", picture.tokens}});
    }
    for (const Finding& finding : report.findings) {
        json["findings"].push_back({{"topic", finding.topic},
                                    {"label", finding.label},
                                    {"text", finding.text},
                                    {"severity", nameOf(finding.severity)},
                                    {"advice", finding.advice}});
    }
    return json;
}

void printReport(const session::DoctorReport& report) {
    std::string topic;
    for (const Finding& finding : report.findings) {
        if (finding.topic != topic) {
            topic = finding.topic;
            fmt::print("{}\n", topic);
        }
        fmt::print("  {:<5}{:<24} {}\n", markOf(finding.severity), finding.label, finding.text);
        if (!finding.advice.empty()) {
            fmt::print("       {:<24} -> {}\n", "", finding.advice);
        }
    }
    if (report.ok()) {
        fmt::print("doctor OK\n");
    }
}

void doctorCommand(const DoctorOptions& options) {
    session::DoctorRequest request = options.request;
    request.device = session::parseDeviceChoice(options.device);
    request.dtype = session::parseDTypeChoice(options.dtype);
    request.applyTemplate = !options.plain;
    request.pictureReading = chosenReading(options.pictures);
    const session::DoctorReport report = session::loadEngine()->examine(request);
    if (options.json) {
        fmt::print("{}\n", jsonText(reportJson(report)));
    } else {
        printReport(report);
    }
    if (!report.ok()) {
        throwBadInput(fmt::format("A run with {} would be refused: {} problem(s).",
                                  request.model.string(), report.problems()),
                      "Each is marked NO above, with what to do.");
    }
}

} // namespace

void addDoctorCommand(CLI::App& app) {
    CLI::App* doctor = app.add_subcommand(
        "doctor", "Check a model folder, pictures and memory before a run; reads no weights");
    const auto options = std::make_shared<DoctorOptions>();
    session::DoctorRequest& request = options->request;
    doctor->add_option("model", request.model, "Model folder")->required();
    doctor->add_option("--image", request.images, "Picture (JPEG, PNG, WebP); repeat for several");
    doctor->add_option("--prompt", request.prompt, "The words of a prompt");
    addBudgetOption(*doctor, request.budget, "Tokens kept per KV head; 0 = all");
    doctor->add_option("--max-new-tokens", request.maxNewTokens, "Longest answer, in tokens")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    doctor->add_option("--device", options->device, "auto, cpu, cuda")
        ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
    doctor->add_option("--dtype", options->dtype, "Compute type: auto, f32, bf16")
        ->check(CLI::IsMember({"auto", "f32", "bf16"}));
    addPictureOptions(*doctor, options->pictures);
    doctor->add_flag("--plain-prompt", options->plain, "Do not apply the model's chat template");
    doctor->add_flag("--json", options->json, "One JSON object on stdout");
    doctor->footer(kExamples);
    doctor->callback([options] { doctorCommand(*options); });
}

} // namespace ecokv::cli
