#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The engine as the programs see it: opens models, runs prompts. It lives in one shared library
// that holds LibTorch and is loaded when a model is first opened; opening a trace never loads it.

#include "base/cancellation.h"
#include "base/progress.h"
#include "session/doctor_report.h"
#include "session/run_config.h"
#include "session/run_result.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ecokv::session {

enum class Stream : std::uint8_t { Policy, Full }; ///< whose answer a piece of text belongs to

/// Called on the thread that runs; must return quickly.
class RunListener {
public:
    virtual ~RunListener() = default;
    virtual void progress(const Progress& progress) = 0;
    /// With several questions: the next pieces of text answer question `index` from 0.
    virtual void question(std::size_t /*index*/, const std::string& /*words*/) {}
    /// Complete characters only (field case F118).
    virtual void text(Stream stream, const std::string& piece) = 0;
    virtual void note(const std::string& sentence) = 0;
    virtual void ledger(const Ledger& ledger) = 0; ///< once, after the prefill
};

/// A model folder described without reading weights, for the Run page and `ecokv info DIR`.
struct ModelSummary {
    std::string name, family, architecture, path;
    std::int32_t layers = 0, heads = 0, kvHeads = 0, headDim = 0, imageTokensPerPicture = 0;
    std::int64_t parameters = 0, weightBytes = 0, maxPositions = 0;
    std::string dtype;
    std::vector<std::pair<std::string, std::string>> details; ///< label, value; in display order
};

struct DeviceReport {
    std::string chosen;             ///< what `auto` would use
    std::vector<std::string> lines; ///< what was built, what was found, what to do
};

class Engine {
public:
    virtual ~Engine() = default;
    virtual ModelSummary describe(const std::filesystem::path& model) = 0;
    virtual DeviceReport devices() = 0;
    /// Looks through a folder and a prompt for it; reads no weights. What is wrong is a finding, so
    /// that all of it is known at once; throws only for bugs.
    virtual DoctorReport examine(const DoctorRequest& request) = 0;
    /// Runs one prompt; the model stays loaded for the next run with the same folder, device,
    /// dtype. Throws Error; on cancel the trace written so far stays readable under its .part name.
    virtual RunResult run(const RunConfig& config, RunListener& listener,
                          const CancellationToken& cancel) = 0;
};

/// Loads the engine library (beside the program, or `hint`: what --engine of the desktop names) and
/// creates the engine. Throws Error{BadInput} with advice in a build without the engine.
std::unique_ptr<Engine> loadEngine(const std::filesystem::path& hint = {});

} // namespace ecokv::session
