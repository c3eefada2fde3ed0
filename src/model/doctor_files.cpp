// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/doctor_files.h"

#include "model/json_file.h"

#include <array>

#include <fmt/format.h>

namespace ecokv::model {

namespace fs = std::filesystem;

namespace {

struct KnownFile {
    const char* name;
    const char* without; ///< what happens without it; null = nothing works
};

constexpr std::array kFiles{
    KnownFile{"config.json", nullptr},
    KnownFile{"tokenizer.json", nullptr},
    KnownFile{"tokenizer_config.json", "templates know no special tokens"},
    KnownFile{"generation_config.json", "end tokens are those of config.json"},
};

/// Of these one is enough, or none.
constexpr std::array kProcessorFiles{"processor_config.json", "preprocessor_config.json"};
constexpr std::array kTemplateFiles{"chat_template.jinja", "chat_template.json"};

std::string adviceFor(const fs::path& folder, const std::string& missing) {
    if (missing != "tokenizer.json") {
        return "Download it into the folder.";
    }
    for (const char* old : {"tokenizer.model", "vocab.json", "spiece.model"}) {
        if (fs::exists(folder / old)) {
            return fmt::format("{} alone is not read: in Python, "
                               "`AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)` "
                               "makes a tokenizer.json from it.",
                               old);
        }
    }
    return "Download it into the folder.";
}

std::string sizeOf(const fs::path& file) {
    std::error_code unreadable;
    const auto bytes = fs::file_size(file, unreadable);
    return unreadable ? "cannot be read" : byteSize(static_cast<double>(bytes));
}

} // namespace

std::string byteSize(double bytes) {
    static constexpr std::array kUnits{"bytes", "KB", "MB", "GB", "TB"};
    std::size_t unit = 0;
    while (bytes >= 1000 && unit + 1 < kUnits.size()) {
        bytes /= 1000;
        ++unit;
    }
    return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

std::vector<Finding> examineFiles(const fs::path& folder) {
    std::vector<Finding> findings;
    for (const KnownFile& file : kFiles) {
        const fs::path path = folder / file.name;
        if (fs::exists(path)) {
            findings.push_back({"Files", file.name, sizeOf(path), Severity::Good, ""});
        } else if (file.without != nullptr) {
            findings.push_back(
                {"Files", file.name, fmt::format("missing: {}", file.without), Severity::Note, ""});
        } else {
            findings.push_back(
                {"Files", file.name, "missing", Severity::Problem, adviceFor(folder, file.name)});
        }
    }
    const auto addPresent = [&](const char* name) {
        if (fs::exists(folder / name)) {
            findings.push_back({"Files", name, sizeOf(folder / name), Severity::Good, ""});
        }
    };
    for (const char* name : kProcessorFiles) {
        addPresent(name);
    }
    for (const char* name : kTemplateFiles) {
        addPresent(name);
    }
    return findings;
}

std::string tokenizerKind(const fs::path& tokenizerJson) {
    const std::string text = readTextFile(tokenizerJson);
    // vocabularies of 250 000 entries are passed over, not built
    const auto keep = [](int /*depth*/, Json::parse_event_t event, Json& value) {
        return event != Json::parse_event_t::key ||
               (value != "vocab" && value != "merges" && value != "added_tokens");
    };
    const Json json = Json::parse(text, keep, false);
    if (json.is_discarded() || !json.is_object()) {
        parseJson(text, tokenizerJson.string()); // says what is wrong with it
    }
    const JsonObject root(json, tokenizerJson.string());
    const JsonObject model = root.object("model");
    const std::string type = model.string("type", "of no stated kind");
    if (type != "BPE") {
        return type;
    }
    if (model.boolean("byte_fallback", false)) {
        return "BPE with byte fallback (SentencePiece style)";
    }
    const Json* splits = root.find("pre_tokenizer");
    const bool byteLevel =
        splits != nullptr && splits->dump().find("ByteLevel") != std::string::npos;
    return byteLevel ? "BPE, byte-level" : "BPE";
}

} // namespace ecokv::model
