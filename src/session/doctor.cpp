// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/doctor.h"

#include "model/doctor.h"
#include "session/context_limit.h"
#include "session/memory_forecast.h"
#include "session/token_budget.h"

#include <array>

#include <fmt/format.h>

namespace ecokv::session {

namespace {

std::string sizeText(std::uint64_t bytes) {
    static constexpr std::array kUnits{"bytes", "KB", "MB", "GB", "TB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 1000 && unit + 1 < kUnits.size()) {
        value /= 1000;
        ++unit;
    }
    return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, kUnits[unit]);
}

void addGood(DoctorReport& report, const char* topic, const char* label, std::string text) {
    report.findings.push_back({topic, label, std::move(text), Severity::Good, ""});
}

void addMemory(DoctorReport& report, const DoctorRequest& request, const model::ModelInfo& model,
               DType compute) {
    const MemoryForecast& memory = *report.memory;
    addGood(report, "Memory", "Weights",
            fmt::format("{}, {}", sizeText(memory.weights),
                        memory.weightsStayOnDisk ? "mapped from their files" : "converted"));
    if (memory.pictures > 0) {
        addGood(report, "Memory", "Pictures", sizeText(memory.pictures));
    }
    if (memory.tower > 0) {
        addGood(
            report, "Memory", "Tower",
            fmt::format("about {}, free again before the decoder begins", sizeText(memory.tower)));
    }
    addGood(report, "Memory", "One full layer",
            fmt::format("{} for {} tokens", sizeText(memory.fullLayer), report.promptTokens));
    addGood(report, "Memory", "Kept cache",
            memory.keptCache < memory.fullCache
                ? fmt::format("{} with {} tokens per head; {} without eviction",
                              sizeText(memory.keptCache), request.budget,
                              sizeText(memory.fullCache))
                : fmt::format("{}: nothing is evicted", sizeText(memory.keptCache)));
    addGood(report, "Memory", "Answer",
            fmt::format("{} more in the cache behind up to {} new tokens",
                        sizeText(memory.answerCache), request.maxNewTokens));
    addGood(report, "Memory", "Working", fmt::format("about {}", sizeText(memory.working)));
    const std::string total =
        fmt::format("{}, of which {} besides the weights", sizeText(memory.total()),
                    sizeText(memory.besidesWeights()));
    const std::uint64_t needed =
        memory.weightsStayOnDisk ? memory.besidesWeights() : memory.total();
    if (memory.available > 0 && needed > memory.available) {
        report.findings.push_back(
            {"Memory", "In all", fmt::format("{}; {} are free", total, sizeText(memory.available)),
             Severity::Note, memoryAdvice(memory, model, compute)});
    } else if (memory.available > 0 && memory.total() > memory.available) {
        report.findings.push_back(
            {"Memory", "In all", fmt::format("{}; {} are free", total, sizeText(memory.available)),
             Severity::Note, "It will run, but read its weights from disk again and again."});
    } else {
        addGood(report, "Memory", "In all", total);
    }
}

/// Of an answer behind the prompt.
void addLength(DoctorReport& report, const DoctorRequest& request, std::int64_t limit) {
    const ContextNeed need{report.promptTokens, request.maxNewTokens, limit};
    if (need.fits()) {
        addGood(report, "Answer", "Length",
                fmt::format("up to {} tokens: {} of {} positions", need.answer,
                            need.prompt + need.answer, limit));
    } else {
        report.findings.push_back({"Answer", "Length", mayPassContext(need), Severity::Note,
                                   "Give fewer --max-new-tokens, or a shorter prompt."});
    }
}

void addDevice(DoctorReport& report, const ChosenDevice& device) {
    const std::string in =
        report.computeDType.empty() ? std::string() : ", in " + report.computeDType;
    addGood(report, "Device", "Runs on",
            fmt::format("{}: tower, decoder, scoring and cache{}", device.name, in));
    for (const std::string& sentence : device.notes) {
        report.findings.push_back({"Device", "GPU", sentence, Severity::Good, ""});
    }
    report.findings.insert(report.findings.end(), device.refusals.begin(), device.refusals.end());
}

model::ExaminationRequest examinationOf(const DoctorRequest& request, const ChosenDevice& device,
                                        model::ComputeDType dtype) {
    model::ExaminationRequest examination;
    examination.folder = request.model;
    examination.prompt.text = request.prompt;
    examination.prompt.applyTemplate = request.applyTemplate;
    examination.prompt.reading = request.pictureReading;
    for (const auto& image : request.images) {
        examination.prompt.images.push_back(image.string());
    }
    examination.device = device.device;
    examination.dtype = dtype;
    return examination;
}

void addModel(DoctorReport& report, const model::Examination& found, const DoctorRequest& request,
              const ChosenDevice& device) {
    const model::ModelInfo& info = *found.info;
    const DType compute = *found.computeDType;
    report.model = info.name;
    report.family = info.family;
    report.architecture = info.architecture;
    report.storedDType = dtypeName(info.storedDType);
    report.computeDType = dtypeName(compute);
    report.parameters = info.parameters;
    report.weightBytes = info.weightBytes;
    report.cacheBytesPerToken = cacheBytesPerToken(info, compute);
    if (found.promptTokens > 0) {
        report.memory = forecastMemory({.model = info,
                                        .compute = compute,
                                        .device = device.device,
                                        .intermediate = found.intermediate,
                                        .tokens = found.promptTokens,
                                        .budget = request.budget,
                                        .answer = request.maxNewTokens,
                                        .pictureBytes = found.pictureMemory.held,
                                        .towerBytes = found.pictureMemory.tower});
        addMemory(report, request, info, compute);
        addLength(report, request, info.maxPositions);
    } else {
        addGood(report, "Memory", "KV cache",
                fmt::format("{} per token of a prompt",
                            sizeText(static_cast<std::uint64_t>(report.cacheBytesPerToken))));
    }
}

} // namespace

DoctorReport makeDoctorReport(const DoctorRequest& request, const ChosenDevice& device,
                              model::ComputeDType dtype) {
    checkBudget(request.budget);
    const model::Examination found = model::examineModel(examinationOf(request, device, dtype));
    DoctorReport report;
    report.findings = found.findings;
    report.device = device.name;
    report.promptTokens = found.promptTokens;
    report.imageTokens = found.imageTokens;
    for (const model::ExaminedPicture& picture : found.pictures) {
        report.pictures.push_back({picture.path, picture.width, picture.height,
                                   picture.resizedWidth, picture.resizedHeight,
                                   picture.transparency, picture.tokens});
    }
    if (found.info && found.computeDType) {
        addModel(report, found, request, device);
    }
    addDevice(report, device);
    return report;
}

} // namespace ecokv::session
