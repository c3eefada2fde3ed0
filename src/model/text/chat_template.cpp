// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/chat_template.h"

#include "base/error.h"
#include "model/jinja/template.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ecokv::model {

namespace fs = std::filesystem;

namespace {

constexpr const char* kTokenizerConfig = "tokenizer_config.json";
constexpr const char* kNamedTemplates = "additional_chat_templates";
constexpr const char* kMarkerWord = "ecokv-probe"; // no template writes this by itself

/// The text of a token: a string, or an object with its `content`; null if it is neither.
Json tokenText(const Json& value) {
    if (value.is_string()) {
        return value;
    }
    const auto content = value.is_object() ? value.find("content") : value.end();
    return content != value.end() && content->is_string() ? *content : Json(nullptr);
}

/// Adds every `..._token` of `config`, and the ones a model names itself (image_token and the
/// like) in extra_special_tokens.
void addSpecialTokens(const Json& config, Json& tokens) {
    const auto add = [&](const std::string& name, const Json& value) {
        if (Json text = tokenText(value); !text.is_null()) {
            tokens[name] = std::move(text);
        }
    };
    for (const auto& [name, value] : config.items()) {
        if (name.ends_with("_token")) {
            add(name, value);
        }
    }
    const auto extra = config.find("extra_special_tokens");
    if (extra != config.end() && extra->is_object()) {
        for (const auto& [name, value] : extra->items()) {
            add(name, value);
        }
    }
}

/// What templates may call bos_token, eos_token, image_token and so on. Older exports without
/// added_tokens_decoder keep them in special_tokens_map.json, which then wins.
Json readSpecialTokens(const fs::path& folder, const Json& tokenizerConfig) {
    Json tokens = Json::object();
    addSpecialTokens(tokenizerConfig, tokens);
    const fs::path map = folder / "special_tokens_map.json";
    if (!tokenizerConfig.contains("added_tokens_decoder") && fs::exists(map)) {
        const Json json = readJsonFile(map);
        addSpecialTokens(JsonObject(json, map.string()).raw(), tokens);
    }
    return tokens;
}

/// A template, or a list of named ones of which "default" is taken.
std::string chooseTemplate(const Json& value, const std::string& origin) {
    if (value.is_string()) {
        return value.get<std::string>();
    }
    std::vector<std::string> names;
    for (const Json& entry : value.is_array() ? value : Json::array()) {
        const JsonObject named(entry, origin, "chat_template");
        names.push_back(named.string("name", ""));
        if (names.back() == "default") {
            return named.string("template", "");
        }
    }
    throwBadInput(fmt::format("{}: chat_template holds the templates \"{}\", but none is named "
                              "\"default\".",
                              origin, fmt::join(names, "\", \"")),
                  "Keep the one to use in chat_template.jinja.");
}

std::optional<std::string> templateOf(const Json& json, const std::string& origin) {
    const auto found = json.find("chat_template");
    if (found == json.end() || found->is_null()) {
        return std::nullopt;
    }
    return chooseTemplate(*found, origin);
}

struct FoundTemplate {
    std::string source, origin;
};

void addTemplate(const fs::path& path, std::vector<FoundTemplate>& found) {
    if (!fs::exists(path)) {
        return;
    }
    const Json json = readJsonFile(path);
    if (auto source = templateOf(JsonObject(json, path.string()).raw(), path.string())) {
        found.push_back({*std::move(source), path.string()});
    }
}

/// Named templates beside chat_template.jinja; without that file none of them is the default.
void refuseNamedOnly(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder / kNamedTemplates, ignored)) {
        if (entry.path().extension() == ".jinja") {
            names.push_back(entry.path().stem().string());
        }
    }
    if (!names.empty()) {
        std::ranges::sort(names);
        throwBadInput(fmt::format("{} holds the templates \"{}\", but there is no "
                                  "chat_template.jinja to be the default.",
                                  (folder / kNamedTemplates).string(), fmt::join(names, "\", \"")),
                      "Copy the one to use to chat_template.jinja.");
    }
}

/// All templates of a folder, the one transformers takes first (field case F117).
std::vector<FoundTemplate> findTemplates(const fs::path& folder) {
    std::vector<FoundTemplate> found;
    addTemplate(folder / "processor_config.json", found);
    addTemplate(folder / "chat_template.json", found);
    const fs::path own = folder / "chat_template.jinja";
    if (fs::exists(own)) {
        found.push_back({readTextFile(own), own.string()});
    } else if (found.empty()) {
        refuseNamedOnly(folder);
    }
    if (found.empty()) {
        addTemplate(folder / kTokenizerConfig, found);
    } else { // only to say that it differs: a broken spare is no reason to refuse
        try {
            addTemplate(folder / kTokenizerConfig, found);
        } catch (const Error&) {
        }
    }
    return found;
}

Json contentAsParts(const ChatMessage& message) {
    Json parts = Json::array();
    for (int i = 0; i < message.images; ++i) {
        parts.push_back({{"type", "image"}});
    }
    parts.push_back({{"type", "text"}, {"text", message.text}});
    return parts;
}

std::string contentAsString(const ChatMessage& message, const std::string& imageMarker) {
    std::string text;
    for (int i = 0; i < message.images; ++i) {
        text += imageMarker + "\n";
    }
    return text + message.text;
}

Json toJson(const std::vector<ChatMessage>& messages, bool asParts,
            const std::string& imageMarker) {
    Json list = Json::array();
    for (const ChatMessage& message : messages) {
        Json content =
            asParts ? contentAsParts(message) : Json(contentAsString(message, imageMarker));
        list.push_back({{"role", message.role}, {"content", std::move(content)}});
    }
    return list;
}

/// Of an empty part there is none: models without eyes have an empty picture marker.
std::size_t countOf(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = part.empty() ? std::string::npos : text.find(part);
         at != std::string::npos; at = text.find(part, at + part.size())) {
        ++count;
    }
    return count;
}

} // namespace

ChatTemplate::ChatTemplate(std::string source, std::string origin, Json specialTokens)
    : m_source(std::move(source)), m_origin(std::move(origin)),
      m_specialTokens(std::move(specialTokens)),
      m_template(std::make_unique<jinja::Template>(jinja::Template::parse(m_source, m_origin))) {}

ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

ChatTemplate ChatTemplate::fromSource(const std::string& source, const std::string& origin,
                                      Json specialTokens) {
    return {source, origin, std::move(specialTokens)};
}

std::optional<ChatTemplate> ChatTemplate::open(const fs::path& folder) {
    const std::vector<FoundTemplate> found = findTemplates(folder);
    if (found.empty()) {
        return std::nullopt;
    }
    const fs::path config = folder / kTokenizerConfig;
    ChatTemplate chosen(
        found.front().source, found.front().origin,
        readSpecialTokens(folder, fs::exists(config) ? readJsonFile(config) : Json::object()));
    for (std::size_t i = 1; i < found.size(); ++i) {
        if (found[i].source != chosen.m_source) {
            chosen.m_notes.push_back(fmt::format("{} holds another chat template, which is not "
                                                 "used: {} comes first.",
                                                 found[i].origin, chosen.m_origin));
        }
    }
    return chosen;
}

std::string ChatTemplate::renderRaw(const Json& variables) const {
    Json all = m_specialTokens;
    for (const auto& [name, value] : variables.items()) {
        all[name] = value;
    }
    return m_template->render(all);
}

RenderedChat ChatTemplate::render(const std::vector<ChatMessage>& messages,
                                  const std::string& imageMarker) const {
    const auto attempt = [&](const std::vector<ChatMessage>& chat, bool asParts) {
        return renderRaw({{"messages", toJson(chat, asParts, imageMarker)},
                          {"tools", nullptr},
                          {"documents", nullptr},
                          {"add_generation_prompt", true}});
    };
    // A shape fits if the words come out once, as words, and every picture has its marker.
    std::vector<ChatMessage> probe = messages;
    std::size_t pictures = 0;
    for (ChatMessage& message : probe) {
        message.text = kMarkerWord;
        pictures += static_cast<std::size_t>(message.images);
    }
    const auto fits = [&](bool asParts) {
        try {
            const std::string text = attempt(probe, asParts);
            return countOf(text, kMarkerWord) == probe.size() &&
                   countOf(text, imageMarker) == pictures &&
                   text.find("'type'") == std::string::npos;
        } catch (const Error&) {
            return false;
        }
    };
    RenderedChat chat;
    chat.notes = m_notes;
    chat.contentAsParts = fits(true);
    if (!chat.contentAsParts && fits(false)) {
        if (pictures > 0) {
            chat.notes.push_back(fmt::format("The template in {} takes the message as one string; "
                                             "picture markers were written before the words.",
                                             m_origin));
        }
        chat.text = attempt(messages, false);
        return chat;
    }
    chat.text = attempt(messages, true); // if neither fits, its error or its text is what is true
    return chat;
}

} // namespace ecokv::model
