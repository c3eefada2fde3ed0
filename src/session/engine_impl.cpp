// SPDX-License-Identifier: GPL-3.0-or-later
// The engine behind session::Engine: holds the opened model and runs prompts on it.

#include "base/error.h"
#include "base/stop_watch.h"
#include "kernels/device_memory.h"
#include "model/model.h"
#include "session/doctor.h"
#include "session/engine.h"
#include "session/memory_forecast.h"
#include "session/model_shape.h"
#include "session/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>

namespace ecokv::session {

namespace {

/// 1234567 -> "1 234 567".
std::string grouped(std::int64_t value) {
    const std::string digits = std::to_string(value);
    std::string text;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && (digits.size() - i) % 3 == 0) {
            text += ' ';
        }
        text += digits[i];
    }
    return text;
}

/// "full in every layer" or "full in 2 layers, sliding in 2 (8 tokens), linear in 4 (no KV cache)".
std::string attentionText(const policy::ModelShape& shape) {
    std::int64_t full = 0, sliding = 0, linear = 0, window = 0;
    for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
        full += shape.canEvict(layer) ? 1 : 0;
        linear += shape.isLinear(layer) ? 1 : 0;
        if (shape.isSliding(layer)) {
            ++sliding;
            window = std::max(window, shape.slidingWindows[static_cast<std::size_t>(layer)]);
        }
    }
    if (full == shape.layers) {
        return "full in every layer";
    }
    std::string text = fmt::format("full in {} layers", full);
    if (sliding > 0) {
        text += fmt::format(", sliding in {} ({} tokens)", sliding, window);
    }
    return linear > 0 ? text + fmt::format(", linear in {} (no KV cache)", linear) : text;
}

/// More threads than cores only slow a run down (field case F164); 0 stays "choose for me".
int usableThreads(int asked) {
    return std::min(asked, static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
}

/// What the loaded model depends on; a change means loading again.
struct ModelKey {
    std::filesystem::path folder;
    Device device;
    DTypeChoice dtype = DTypeChoice::Auto;
    int threads = 0;

    bool operator==(const ModelKey&) const = default;
};

model::ComputeDType computeDType(DTypeChoice choice) {
    switch (choice) {
    case DTypeChoice::F32:
        return model::ComputeDType::F32;
    case DTypeChoice::BF16:
        return model::ComputeDType::BF16;
    case DTypeChoice::Auto:
        break;
    }
    return model::ComputeDType::Auto;
}

bool isUsable(const kernels::CudaReport& cuda) {
    return cuda.built && cuda.problem.empty();
}

class EngineImpl : public Engine {
public:
    ModelSummary describe(const std::filesystem::path& folder) override;
    DeviceReport devices() override;
    DoctorReport examine(const DoctorRequest& request) override;
    RunResult run(const RunConfig& config, RunListener& listener,
                  const CancellationToken& cancel) override;

private:
    Device chooseDevice(DeviceChoice choice) const;
    /// Opens the model unless it is open; either way options.beforeWeights is called with it.
    void load(const RunConfig& config, model::LoadOptions options);

    ModelKey m_key;
    std::unique_ptr<model::Model> m_model;
};

ModelSummary EngineImpl::describe(const std::filesystem::path& folder) {
    const model::ModelInfo info = model::describeModel(folder);
    ModelSummary summary{info.name,
                         info.family,
                         info.architecture,
                         info.path,
                         info.layers,
                         info.heads,
                         info.kvHeads,
                         info.headDim,
                         info.imageTokensPerPicture,
                         info.parameters,
                         info.weightBytes,
                         info.maxPositions,
                         dtypeName(info.storedDType),
                         {}};
    summary.details = {
        {"Family", fmt::format("{} ({})", info.family, info.architecture)},
        {"Parameters", grouped(info.parameters)},
        {"Weights", fmt::format("{:.1f} MB as {}", static_cast<double>(info.weightBytes) / 1e6,
                                summary.dtype)},
        {"Decoder", fmt::format("{} layers, {} query heads, {} KV heads of {} dims", info.layers,
                                info.heads, info.kvHeads, info.headDim)},
        {"Attention", attentionText(shapeOf(info))},
        {"Context", fmt::format("{} tokens", grouped(info.maxPositions))},
        {"Chat template", info.templateSource.empty() ? std::string("none (plain prompts only)")
                                                      : info.templateSource},
        {"Image settings", info.processorSource.empty()
                               ? std::string("none: this model reads text only")
                               : std::filesystem::path(info.processorSource).filename().string()},
        {"KV cache",
         fmt::format("{} bytes per token as {}",
                     grouped(cacheBytesPerToken(info, info.storedDType)), summary.dtype)},
    };
    const auto at = std::ranges::find(summary.details, "Chat template",
                                      [](const auto& line) { return line.first; });
    summary.details.insert(at, info.pictureLines.begin(), info.pictureLines.end());
    return summary;
}

DeviceReport EngineImpl::devices() {
    const kernels::CudaReport cuda = kernels::cudaReport();
    DeviceReport report;
    report.lines.push_back(fmt::format("cpu: {} threads", std::thread::hardware_concurrency()));
    if (!cuda.built) {
        report.lines.emplace_back("cuda: this build has no CUDA kernels; configure with "
                                  "ECOKV_CUDA=ON to add them");
    } else if (cuda.problem.empty()) {
        report.lines.push_back(fmt::format("cuda: {} device(s), first is {}; kernels built for {}",
                                           cuda.deviceCount, cuda.deviceName, cuda.architectures));
    } else {
        report.lines.push_back(fmt::format("cuda: kernels built for {}, not usable: {}",
                                           cuda.architectures, cuda.problem));
    }
    report.chosen = isUsable(cuda) ? "cuda" : "cpu";
    report.lines.push_back("auto uses: " + report.chosen);
    return report;
}

DoctorReport EngineImpl::examine(const DoctorRequest& request) {
    ChosenDevice chosen;
    try {
        chosen.device = chooseDevice(request.device);
    } catch (const Error& error) {
        chosen.refusals.push_back(
            {"Device", "GPU", error.message(), Severity::Problem, error.advice()});
    }
    const kernels::CudaReport cuda = kernels::cudaReport();
    chosen.name = chosen.device.kind == DeviceKind::Cuda ? cuda.deviceName : std::string("cpu");
    if (request.device == DeviceChoice::Auto && cuda.built && !cuda.problem.empty()) {
        chosen.notes.push_back("not usable: " + cuda.problem);
    }
    return makeDoctorReport(request, chosen, computeDType(request.dtype));
}

Device EngineImpl::chooseDevice(DeviceChoice choice) const {
    if (choice == DeviceChoice::Cpu) {
        return {};
    }
    const kernels::CudaReport cuda = kernels::cudaReport();
    const bool usable = isUsable(cuda);
    if (choice == DeviceChoice::Cuda && !usable) {
        throwBadInput(
            cuda.built ? fmt::format("No GPU can be used: {}. Kernels for {} are built in.",
                                     cuda.problem, cuda.architectures)
                       : std::string("This build has no CUDA kernels."),
            cuda.built ? "Install an NVIDIA driver for CUDA 13 and check that nvidia-smi lists "
                         "the GPU, or use --device cpu."
                       : "Configure with ECOKV_CUDA=ON and build again, or use --device cpu.");
    }
    return usable ? Device{DeviceKind::Cuda, 0} : Device{};
}

void EngineImpl::load(const RunConfig& config, model::LoadOptions options) {
    const ModelKey key{std::filesystem::weakly_canonical(config.model), chooseDevice(config.device),
                       config.dtype, usableThreads(config.threads)};
    if (m_model && key == m_key) {
        options.beforeWeights(*m_model);
        return;
    }
    m_model.reset(); // the old weights go before the new ones come
    options.device = key.device;
    options.dtype = computeDType(config.dtype);
    options.threads = key.threads;
    m_model = model::Model::open(key.folder, options);
    m_key = key;
}

RunResult EngineImpl::run(const RunConfig& config, RunListener& listener,
                          const CancellationToken& cancel) {
    checkRunConfig(config);
    std::vector<std::string> notes;
    if (usableThreads(config.threads) < config.threads) {
        notes.push_back(fmt::format("{} threads were asked for; this machine has {} cores, "
                                    "so {} are used.",
                                    config.threads, usableThreads(config.threads),
                                    usableThreads(config.threads)));
        listener.note(notes.back());
    }
    const StopWatch watch;
    std::optional<Runner> runner;
    model::LoadOptions options;
    options.progress = [&listener](const Progress& progress) { listener.progress(progress); };
    options.cancel = cancel;
    options.beforeWeights = [&](model::Model& model) {
        runner.emplace(model, config, listener, cancel).prepare(std::move(notes));
    };
    load(config, std::move(options));
    const bool onGpu = m_key.device.kind == DeviceKind::Cuda;
    return runner->run({.device = onGpu ? kernels::cudaReport().deviceName : "cpu",
                        .dtype = dtypeName(m_model->computeDType()),
                        .backend = onGpu ? "cuda" : "cpu",
                        .threads = m_model->threads(),
                        .loadSeconds = watch.seconds() - runner->prepareSeconds()});
}

} // namespace

} // namespace ecokv::session

extern "C" ecokv::session::Engine* ecokvCreateEngine() {
    return new ecokv::session::EngineImpl();
}
