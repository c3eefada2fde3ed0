#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The chat template of a model folder, rendered by our own subset of Jinja2. The source is taken
// from where transformers' processors take it: processor_config.json, else chat_template.json, else
// chat_template.jinja, else tokenizer_config.json (field case F117). It is recorded, others that
// differ are named in a note, and there is no silent default.

#include "model/json_file.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ecokv::jinja {
class Template;
}

namespace ecokv::model {

/// One message to render: its words and how many pictures stand before them.
struct ChatMessage {
    std::string role = "user";
    std::string text;
    int images = 0;
};

struct RenderedChat {
    std::string text;
    bool contentAsParts = true;     ///< shape the template wanted (field case F116)
    std::vector<std::string> notes; ///< how that was found out, if it is not obvious
};

class ChatTemplate {
public:
    /// Nothing if the folder has no template. Throws on a template that does not parse or when
    /// several named ones exist and none is called "default".
    static std::optional<ChatTemplate> open(const std::filesystem::path& folder);
    static ChatTemplate fromSource(const std::string& source, const std::string& origin,
                                   Json specialTokens);
    ~ChatTemplate();
    ChatTemplate(ChatTemplate&&) noexcept;
    ChatTemplate& operator=(ChatTemplate&&) noexcept;

    /// Renders with add_generation_prompt. Errors name origin, line and column (field case F114).
    RenderedChat render(const std::vector<ChatMessage>& messages,
                        const std::string& imageMarker) const;
    /// Renders arbitrary variables, as tests against the reference do.
    std::string renderRaw(const Json& variables) const;

    const std::string& origin() const { return m_origin; } ///< file it came from
    const std::string& source() const { return m_source; }
    /// Other places with another template, which is not used.
    const std::vector<std::string>& notes() const { return m_notes; }

private:
    ChatTemplate(std::string source, std::string origin, Json specialTokens);

    std::string m_source;
    std::string m_origin;
    Json m_specialTokens;             ///< bos_token, eos_token, image_token, ... as strings
    std::vector<std::string> m_notes; ///< of templates that are not used
    std::unique_ptr<jinja::Template> m_template;
};

} // namespace ecokv::model
