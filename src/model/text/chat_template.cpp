// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/chat_template.h"

#include "base/error.h"
#include "model/jinja/template.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ecokv::model {

namespace fs = std::filesystem;

namespace {

constexpr const char* kMarkerWord = "ecokv-probe"; // no template writes this by itself

/// bos_token and the like: a string, or an object with its `content`.
Json readSpecialTokens(const Json& tokenizerConfig) {
    Json tokens = Json::object();
    for (const char* name : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                             "cls_token", "mask_token", "image_token"}) {
        const auto found = tokenizerConfig.find(name);
        if (found == tokenizerConfig.end()) {
            continue;
        }
        if (found->is_string()) {
            tokens[name] = *found;
        } else if (found->is_object() && found->contains("content") &&
                   (*found)["content"].is_string()) {
            tokens[name] = (*found)["content"];
        }
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

std::size_t countOf(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos;
         at = text.find(part, at + part.size())) {
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
    const fs::path configPath = folder / "tokenizer_config.json";
    const Json config = fs::exists(configPath) ? readJsonFile(configPath) : Json::object();
    const Json tokens = readSpecialTokens(config);

    const fs::path own = folder / "chat_template.jinja";
    if (fs::exists(own)) {
        return ChatTemplate(readTextFile(own), own.string(), tokens);
    }
    const fs::path json = folder / "chat_template.json";
    if (fs::exists(json)) {
        if (const auto source = templateOf(readJsonFile(json), json.string())) {
            return ChatTemplate(*source, json.string(), tokens);
        }
    }
    if (const auto source = templateOf(config, configPath.string())) {
        return ChatTemplate(*source, configPath.string(), tokens);
    }
    return std::nullopt;
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
    chat.contentAsParts = fits(true);
    if (!chat.contentAsParts && fits(false)) {
        chat.notes.push_back(fmt::format("The template in {} takes the message as one string; "
                                         "picture markers were written before the words.",
                                         m_origin));
        chat.text = attempt(messages, false);
        return chat;
    }
    chat.text = attempt(messages, true); // if neither fits, its error or its text is what is true
    return chat;
}

} // namespace ecokv::model
