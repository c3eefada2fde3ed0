// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/named_tokens.h"

#include "base/error.h"
#include "model/file_advice.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace ecokv::model {

namespace fs = std::filesystem;

namespace {

constexpr const char* kDecoder = "added_tokens_decoder";
constexpr const char* kExtra = "extra_special_tokens";
constexpr const char* kOlderExtra = "additional_special_tokens";
constexpr std::array kRoles{"bos_token", "eos_token", "unk_token", "sep_token",
                            "pad_token", "cls_token", "mask_token"};

/// The object of a file, {} where there is none.
Json readObject(const fs::path& path) {
    if (!fs::exists(path)) {
        return Json::object();
    }
    const Json json = readJsonFile(path);
    return JsonObject(json, path.string()).raw();
}

/// A string, or an object with flags: special unless it says otherwise.
std::optional<AddedToken> tokenOf(const Json& value, const std::string& origin) {
    AddedToken token;
    if (value.is_string()) {
        token.content = value.get<std::string>();
        token.special = true;
        return token;
    }
    if (!value.is_object()) {
        return std::nullopt;
    }
    token = readAddedToken(JsonObject(value, origin, "token"));
    token.special = token.special || !value.contains("special");
    return token;
}

/// Collects the tokens of a folder in the order they are added.
class Collector {
public:
    Collector(const fs::path& folder, const std::vector<AddedToken>& known)
        : m_folder(folder), m_known(known), m_path((folder / "tokenizer_config.json").string()),
          m_settings(readObject(m_path)) {
        if (m_settings.contains(kOlderExtra)) {
            Json older = std::move(m_settings[kOlderExtra]);
            m_settings.erase(kOlderExtra);
            m_settings.emplace(kExtra, std::move(older)); // unless it has that too
        }
        takeNamedExtras();
    }

    std::vector<AddedToken> collect() {
        if (m_settings.contains(kDecoder)) {
            readDecoder();
        } else {
            mergeSpecialTokensMap();
            readAddedTokensFile();
            for (const AddedToken& token : m_known) {
                m_byId[token.id] = token;
            }
        }
        for (const auto& [id, token] : m_byId) {
            m_tokens.push_back(token);
        }
        addNamed();
        for (const Json& value : extras()) {
            if (const auto token = tokenOf(value, m_path)) {
                add(*token);
            }
        }
        return std::move(m_tokens);
    }

private:
    /// Extras with names ("image_token") give way to a list of others.
    void takeNamedExtras() {
        const auto extra = m_settings.find(kExtra);
        if (extra != m_settings.end() && extra->is_object()) {
            m_named.update(*extra);
            m_settings.erase(extra);
        }
    }

    void readDecoder() {
        const JsonObject decoder = JsonObject(m_settings, m_path).object(kDecoder);
        for (const auto& [key, value] : decoder.raw().items()) {
            TokenId id = 0;
            const char* end = key.data() + key.size();
            const auto [stopped, error] = std::from_chars(key.data(), end, id);
            if (error != std::errc{} || stopped != end || id < 0) {
                throwBadInput(fmt::format("{} is not a token id.", decoder.where(key.c_str())),
                              restoreAdvice(JsonObject(m_settings, m_path), kDecoder));
            }
            m_byId[id] = readAddedToken(JsonObject(value, m_path, kDecoder));
        }
    }

    /// special_tokens_map.json has the last word where there is no added_tokens_decoder.
    void mergeSpecialTokensMap() {
        const Json map = readObject(m_folder / "special_tokens_map.json");
        for (const auto& [key, value] : map.items()) {
            if (key == kExtra && value.is_array()) {
                Json all = extras();
                all.insert(all.end(), value.begin(), value.end());
                m_settings[key] = std::move(all);
            } else {
                m_settings[key] = value;
                if (value.is_object() && key != kExtra) {
                    m_settings[key]["special"] = true;
                }
            }
        }
        takeNamedExtras();
    }

    void readAddedTokensFile() {
        const fs::path path = m_folder / "added_tokens.json";
        const Json tokens = readObject(path);
        for (const auto& [content, id] : tokens.items()) {
            if (!id.is_number_integer() || id < 0 || id >= Vocabulary::kIdLimit) {
                throwBadInput(fmt::format("{}: \"{}\" = {} is not a token id.", path.string(),
                                          content, id.dump()),
                              "Download the file again, or remove it: newer exports have none.");
            }
            AddedToken token;
            token.content = content;
            token.special = isNamed(content);
            token.normalized = !token.special;
            m_byId[id.get<TokenId>()] = token;
        }
    }

    /// Roles first, then what the model names itself ("image_token").
    std::vector<std::pair<std::string, const Json*>> named() const {
        std::vector<std::pair<std::string, const Json*>> values;
        for (const char* role : kRoles) {
            if (const auto found = m_settings.find(role); found != m_settings.end()) {
                values.emplace_back(role, &*found);
            }
        }
        const auto addOwn = [&](const std::string& name, const Json& value) {
            if (std::ranges::find(kRoles, name) == kRoles.end()) {
                values.emplace_back(name, &value);
            }
        };
        for (const auto& [name, value] : m_settings.items()) {
            if (name.ends_with("_token")) {
                addOwn(name, value);
            }
        }
        for (const auto& [name, value] : m_named.items()) {
            addOwn(name, value);
        }
        return values;
    }

    Json extras() const {
        const auto found = m_settings.find(m_settings.contains(kExtra) ? kExtra : kOlderExtra);
        return found != m_settings.end() && found->is_array() ? *found : Json::array();
    }

    bool isNamed(const std::string& content) const {
        const auto is = [&](const Json& value) {
            const auto token = tokenOf(value, m_path);
            return token && token->content == content;
        };
        return std::ranges::any_of(named(), [&](const auto& entry) { return is(*entry.second); }) ||
               std::ranges::any_of(extras(), is);
    }

    void addNamed() {
        for (const auto& [name, value] : named()) {
            const auto token = tokenOf(*value, m_path);
            if (!token) {
                continue;
            }
            for (AddedToken& listed : m_tokens) {
                listed.special = listed.special || listed.content == token->content;
            }
            add(*token);
        }
    }

    void add(const AddedToken& token) {
        const auto isIt = [&](const AddedToken& other) { return other.content == token.content; };
        if (std::ranges::none_of(m_known, isIt) && std::ranges::none_of(m_tokens, isIt)) {
            m_tokens.push_back(token);
        }
    }

    const fs::path& m_folder;
    const std::vector<AddedToken>& m_known;
    std::string m_path;
    Json m_settings;
    Json m_named = Json::object(); ///< extras that have names
    std::map<TokenId, AddedToken> m_byId;
    std::vector<AddedToken> m_tokens;
};

} // namespace

std::vector<AddedToken> namedTokens(const fs::path& folder, const std::vector<AddedToken>& known) {
    return Collector(folder, known).collect();
}

} // namespace ecokv::model
