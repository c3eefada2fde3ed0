// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/doctor.h"

#include "base/error.h"
#include "model/describe_model.h"
#include "model/doctor_files.h"
#include "model/doctor_tower.h"
#include "model/end_tokens.h"
#include "model/families/family.h"
#include "model/image/image_decoder.h"
#include "model/image/normalization.h"
#include "model/prompt_builder.h"
#include "model/tensor_check.h"
#include "model/torch_runtime.h"
#include "model/weights/checkpoint.h"
#include "model/weights/foreign_files.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ecokv::model {

namespace {

class Examiner {
public:
    explicit Examiner(const ExaminationRequest& request) : m_request(request) {}

    Examination run() {
        const auto& folder = m_request.folder;
        if (!attempt("Files", "Folder", [&] { requireModelFolder(folder); }) &&
            !std::filesystem::is_directory(folder)) {
            return std::move(m_result);
        }
        const auto files = examineFiles(folder);
        m_result.findings.insert(m_result.findings.end(), files.begin(), files.end());
        examineFamily();
        examineWeights();
        examineTokenizer();
        examineTemplate();
        examineProcessor();
        examineModelInfo();
        examinePrompt();
        return std::move(m_result);
    }

private:
    void good(const char* topic, const char* label, std::string text) {
        m_result.findings.push_back({topic, label, std::move(text), Severity::Good, ""});
    }

    void note(const char* topic, const char* label, std::string text, std::string advice = "") {
        m_result.findings.push_back(
            {topic, label, std::move(text), Severity::Note, std::move(advice)});
    }

    void fail(const char* topic, const char* label, const char* reason) {
        m_result.findings.push_back(
            {topic, label, reason, Severity::Problem, "Report this with the name of the model."});
    }

    /// False if `work` was refused; the reason is a finding then.
    template <class Work> bool attempt(const char* topic, const char* label, Work work) {
        try {
            work();
            return true;
        } catch (const Error& error) {
            m_result.findings.push_back(
                {topic, label, error.message(), Severity::Problem, error.advice()});
        } catch (const c10::Error& error) { // on files nobody foresaw
            fail(topic, label, error.what_without_backtrace());
        } catch (const std::exception& error) {
            fail(topic, label, error.what());
        }
        return false;
    }

    bool has(const char* file) const { return std::filesystem::exists(m_request.folder / file); }

    void examineFamily();
    void examineWeights();
    void examineTokenizer();
    void examineTemplate();
    void examineProcessor();
    void examineModelInfo();
    void examinePrompt();
    void examinePicturesAlone();
    void addPrompt(const Prompt& prompt);

    const ExaminationRequest& m_request;
    Examination m_result;
    std::unique_ptr<Family> m_family;
    std::optional<Checkpoint> m_checkpoint;
    std::optional<Tokenizer> m_tokenizer;
    std::optional<ChatTemplate> m_template;
    std::unique_ptr<PictureProcessor> m_processor;
    std::shared_ptr<const VisionEncoder> m_vision;
    bool m_processorWorks = false;
    std::optional<PromptBuilder> m_prompts;
};

void Examiner::examineFamily() {
    if (!has("config.json") ||
        !attempt("Model", "Family", [&] { m_family = openFamily(m_request.folder); })) {
        return;
    }
    const DecoderConfig& decoder = m_family->config().decoder;
    m_result.intermediate = decoder.intermediate;
    good("Model", "Family",
         fmt::format("{} ({})", m_family->config().family, m_family->config().architecture));
    good("Model", "Decoder",
         fmt::format("{} layers, {} query heads, {} KV heads of {} dims", decoder.layers,
                     decoder.heads, decoder.kvHeads, decoder.headDim));
    good("Model", "Context", fmt::format("{} tokens", decoder.maxPositions));
}

void Examiner::examineWeights() {
    if (!attempt("Weights", "Safetensors",
                 [&] { m_checkpoint = Checkpoint::open(m_request.folder); })) {
        return;
    }
    std::vector<std::string> dtypes;
    for (const auto& [name, bytes] : m_checkpoint->bytesByDType()) {
        dtypes.push_back(fmt::format("{} {}", name, byteSize(static_cast<double>(bytes))));
    }
    good("Weights", "Safetensors",
         fmt::format("{} file(s), {}", m_checkpoint->files().size(),
                     byteSize(static_cast<double>(m_checkpoint->fileBytes()))));
    good("Weights", "Stored as", fmt::format("{}", fmt::join(dtypes, ", ")));
    const auto millions = static_cast<double>(m_checkpoint->parameters()) / 1e6;
    good("Weights", "Parameters",
         millions < 1000 ? fmt::format("{:.1f} million", millions)
                         : fmt::format("{:.2f} billion", millions / 1000));
    if (m_family && attempt("Weights", "Tensors", [&] {
            m_vision = checkTensors(*m_family, *m_checkpoint, m_request.folder.string());
        })) {
        good("Weights", "Tensors",
             fmt::format("all {} fit config.json", m_checkpoint->tensors().size()));
    }
}

void Examiner::examineTokenizer() {
    if (!has("tokenizer.json")) {
        return; // said under Files
    }
    if (!attempt("Text", "Tokenizer", [&] { m_tokenizer = Tokenizer::open(m_request.folder); })) {
        return;
    }
    good("Text", "Tokenizer",
         fmt::format("{}, {} ids", tokenizerKind(m_request.folder / "tokenizer.json"),
                     m_tokenizer->size()));
    if (m_family) {
        attempt("Text", "Ends at", [&] {
            std::vector<std::string> names;
            for (const TokenId id : endTokens(m_request.folder, m_family->config(), *m_tokenizer)) {
                names.push_back(m_tokenizer->knows(id)
                                    ? fmt::format("{} ({})", m_tokenizer->tokenString(id), id)
                                    : std::to_string(id));
            }
            if (names.empty()) {
                note("Text", "Ends at", "no end token is named: answers run to their limit");
            } else {
                good("Text", "Ends at", fmt::format("{}", fmt::join(names, ", ")));
            }
        });
    }
}

void Examiner::examineTemplate() {
    if (!attempt("Text", "Chat template",
                 [&] { m_template = ChatTemplate::open(m_request.folder); })) {
        return;
    }
    if (!m_template) {
        note("Text", "Chat template", "none in any of its places: plain prompts only",
             plainPromptAdvice(""));
        return;
    }
    good("Text", "Chat template", m_template->origin());
    for (const std::string& sentence : m_template->notes()) {
        note("Text", "Chat template", sentence);
    }
}

void Examiner::examineProcessor() {
    if (!m_family || !m_tokenizer) {
        return;
    }
    m_processorWorks = attempt("Pictures", "Settings", [&] {
        m_processor = m_family->openProcessor(m_request.folder, *m_tokenizer);
    });
    if (!m_processorWorks) {
        return;
    }
    if (!m_processor) {
        good("Pictures", "Settings", "none: this model reads text only");
        return;
    }
    good("Pictures", "Settings", m_processor->source());
    good("Pictures", "Processor", ProcessorFile::open(m_request.folder).writtenType());
    good("Pictures", "Size", m_processor->sizeRule());
    for (const auto& [label, value] : m_processor->describe()) {
        good("Pictures", label.c_str(), value);
    }
}

void Examiner::examineModelInfo() {
    if (!m_processorWorks) {
        return;
    }
    m_prompts.emplace(*m_family, std::move(*m_tokenizer), std::move(m_processor),
                      std::move(m_template));
    if (!m_checkpoint || !attempt("Model", "Layers", [&] {
            m_result.info = makeModelInfo(
                m_request.folder,
                {.config = m_family->config(), .checkpoint = *m_checkpoint, .prompts = *m_prompts});
        })) {
        return;
    }
    m_result.computeDType = chooseComputeDType({.asked = m_request.dtype,
                                                .stored = m_result.info->storedDType,
                                                .weightBytes = m_result.info->weightBytes,
                                                .device = m_request.device});
}

void Examiner::examinePrompt() {
    const PromptRequest& asked = m_request.prompt;
    if (asked.text.empty() && asked.images.empty()) {
        return;
    }
    if (!m_prompts) {
        examinePicturesAlone();
        return;
    }
    const std::size_t before = m_result.findings.size();
    examinePicturesAlone();
    if (m_result.findings.size() == before) { // what is wrong with a picture is said once
        attempt("Prompt", "Tokens", [&] { addPrompt(m_prompts->build(asked)); });
    }
}

/// Problems of each picture; nothing is added for those that are fine.
void Examiner::examinePicturesAlone() {
    const PictureProcessor* processor = m_prompts ? m_prompts->pictureProcessor() : nullptr;
    for (const std::string& path : m_request.prompt.images) {
        attempt("Prompt", "Picture", [&] {
            std::vector<std::string> notes;
            const Picture picture = decodePicture(path, m_request.prompt.reading, notes);
            if (processor != nullptr) {
                processor->prepare(picture, m_request.prompt.images.size());
            }
        });
    }
}

void Examiner::addPrompt(const Prompt& prompt) {
    m_result.promptTokens = prompt.tokens();
    m_result.imageTokens = prompt.imageTokens();
    if (m_vision && m_result.computeDType) {
        m_result.pictureMemory = pictureMemory(prompt, *m_vision, *m_result.computeDType);
    }
    for (std::size_t i = 0; i < prompt.pictures.size(); ++i) {
        const Picture& picture = prompt.pictures[i];
        const std::int64_t tokens = prompt.imageTokensOf(i);
        m_result.pictures.push_back({picture.path, picture.width, picture.height,
                                     picture.resizedWidth, picture.resizedHeight,
                                     picture.transparency, tokens});
        good("Prompt", "Picture",
             fmt::format("{}: {} x {} pixels, seen as {} x {}, {} tokens{}",
                         std::filesystem::path(picture.path).filename().string(), picture.width,
                         picture.height, picture.resizedWidth, picture.resizedHeight, tokens,
                         picture.transparency == "none"
                             ? std::string()
                             : ", transparency " + picture.transparency));
    }
    good("Prompt", "Tokens",
         fmt::format("{}, {} of them of pictures", m_result.promptTokens, m_result.imageTokens));
    for (const std::string& sentence : prompt.notes) {
        note("Prompt", "Note", sentence);
    }
}

} // namespace

Examination examineModel(const ExaminationRequest& request) {
    return Examiner(request).run();
}

} // namespace ecokv::model
