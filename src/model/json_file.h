#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// JSON files of a model folder: reading with errors that name file, line and column, and typed
// access to keys with errors that name file, key, wanted and found type. Locale-free. Any thread.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ecokv::model {

using Json = nlohmann::ordered_json;

/// The file's bytes. Throws Error{BadInput} naming the file.
std::string readTextFile(const std::filesystem::path& path);
/// Parses `text`; `origin` names it in errors ("dir/config.json").
Json parseJson(std::string_view text, const std::string& origin);
Json readJsonFile(const std::filesystem::path& path);

/// A JSON object and where it stands ("config.json", "text_config"): getters throw Error{BadInput}
/// for a value of the wrong type. A JSON null counts as absent.
class JsonObject {
public:
    JsonObject(const Json& object, std::string origin, std::string path = {});

    bool has(const char* key) const;
    const Json& raw() const { return *m_object; }
    const std::string& origin() const { return m_origin; }
    /// "config.json: text_config.rope_theta"
    std::string where(const char* key) const;

    std::optional<std::int64_t> findInteger(const char* key) const;
    std::optional<double> findNumber(const char* key) const;
    std::optional<bool> findBool(const char* key) const;
    std::optional<std::string> findString(const char* key) const;
    std::optional<JsonObject> findObject(const char* key) const;
    const Json* find(const char* key) const; ///< null if absent

    std::int64_t integer(const char* key, std::int64_t fallback) const;
    double number(const char* key, double fallback) const;
    bool boolean(const char* key, bool fallback) const;
    std::string string(const char* key, const std::string& fallback) const;
    /// Throws if absent.
    JsonObject object(const char* key) const;

private:
    const Json* m_object;
    std::string m_origin;
    std::string m_path;
};

} // namespace ecokv::model
