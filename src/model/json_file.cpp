// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/json_file.h"

#include "base/error.h"
#include "model/weights/foreign_files.h"

#include <fstream>

#include <fmt/format.h>

namespace ecokv::model {

namespace {

struct TextPosition {
    std::size_t line = 1, column = 1;
};

/// `byte` counts from 1, as nlohmann reports it.
TextPosition positionOf(std::string_view text, std::size_t byte) {
    TextPosition position;
    const std::size_t end = byte == 0 ? 0 : std::min(byte - 1, text.size());
    for (std::size_t i = 0; i < end; ++i) {
        if (text[i] == '\n') {
            ++position.line;
            position.column = 1;
        } else if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U) {
            ++position.column; // characters, not bytes
        }
    }
    return position;
}

/// The part of nlohmann's message that says what was wrong, without its codes and positions.
std::string reasonOf(const Json::parse_error& error) {
    const std::string_view text = error.what();
    const auto colon = text.find(": ");
    return std::string(colon == std::string_view::npos ? text : text.substr(colon + 2));
}

const char* typeName(const Json& value) {
    if (value.is_number_integer()) {
        return "an integer";
    }
    if (value.is_number()) {
        return "a number";
    }
    if (value.is_boolean()) {
        return "true or false";
    }
    if (value.is_string()) {
        return "a string";
    }
    return value.is_array() ? "a list" : value.is_object() ? "an object" : "null";
}

[[noreturn]] void throwWrongType(const JsonObject& object, const char* key, const char* wanted) {
    throwBadInput(fmt::format("{} must be {}, but it is {}.", object.where(key), wanted,
                              typeName(*object.find(key))),
                  "Check that the file belongs to this model.");
}

} // namespace

std::string readTextFile(const std::filesystem::path& path) {
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        throwBadInput(fmt::format("{} is a folder, not a file.", path.string()),
                      "Move the folder away and put the file of that name in its place.");
    }
    std::ifstream file(path, std::ios::binary);
    std::string text;
    if (file) {
        text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    if (!file || file.bad()) {
        throwBadInput(fmt::format("The file {} cannot be read.", path.string()),
                      "Check that it exists and is readable.");
    }
    return text;
}

Json parseJson(std::string_view text, const std::string& origin) {
    try {
        return Json::parse(text.begin(), text.end());
    } catch (const Json::parse_error& error) {
        if (const auto foreign = foreignContent(text)) {
            throwBadInput(fmt::format("{} is {}.", origin, foreign->what), foreign->advice);
        }
        const TextPosition at = positionOf(text, error.byte);
        throwBadInput(fmt::format("{} is not valid JSON at line {}, column {}: {}.", origin,
                                  at.line, at.column, reasonOf(error)),
                      "Download the file again or correct it there.");
    }
}

Json readJsonFile(const std::filesystem::path& path) {
    return parseJson(readTextFile(path), path.string());
}

JsonObject::JsonObject(const Json& object, std::string origin, std::string path)
    : m_object(&object), m_origin(std::move(origin)), m_path(std::move(path)) {
    if (!object.is_object()) {
        throwBadInput(fmt::format("{} must hold a JSON object{}, but it is {}.", m_origin,
                                  m_path.empty() ? "" : " at " + m_path, typeName(object)),
                      "Download the file again; if it was edited, correct it there.");
    }
}

std::string JsonObject::where(const char* key) const {
    return fmt::format("{}: {}{}{}", m_origin, m_path, m_path.empty() ? "" : ".", key);
}

const Json* JsonObject::find(const char* key) const {
    const auto found = m_object->find(key);
    return found == m_object->end() || found->is_null() ? nullptr : &*found;
}

bool JsonObject::has(const char* key) const {
    return find(key) != nullptr;
}

std::optional<std::int64_t> JsonObject::findInteger(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) {
        return std::nullopt;
    }
    if (value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX) {
        throwBadInput(fmt::format("{} = {} is too large.", where(key), value->dump()),
                      "Whole numbers have at most 64 bits; download the file again.");
    }
    if (!value->is_number_integer()) {
        throwWrongType(*this, key, "an integer");
    }
    return value->get<std::int64_t>();
}

std::optional<double> JsonObject::findNumber(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) {
        return std::nullopt;
    }
    if (!value->is_number()) {
        throwWrongType(*this, key, "a number");
    }
    return value->get<double>();
}

std::optional<bool> JsonObject::findBool(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) {
        return std::nullopt;
    }
    if (!value->is_boolean()) {
        throwWrongType(*this, key, "true or false");
    }
    return value->get<bool>();
}

std::optional<std::string> JsonObject::findString(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) {
        return std::nullopt;
    }
    if (!value->is_string()) {
        throwWrongType(*this, key, "a string");
    }
    return value->get<std::string>();
}

std::optional<JsonObject> JsonObject::findObject(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) {
        return std::nullopt;
    }
    if (!value->is_object()) {
        throwWrongType(*this, key, "an object");
    }
    return JsonObject(*value, m_origin, m_path.empty() ? key : m_path + "." + key);
}

std::int64_t JsonObject::integer(const char* key, std::int64_t fallback) const {
    return findInteger(key).value_or(fallback);
}

double JsonObject::number(const char* key, double fallback) const {
    return findNumber(key).value_or(fallback);
}

bool JsonObject::boolean(const char* key, bool fallback) const {
    return findBool(key).value_or(fallback);
}

std::string JsonObject::string(const char* key, const std::string& fallback) const {
    return findString(key).value_or(fallback);
}

JsonObject JsonObject::object(const char* key) const {
    if (auto found = findObject(key)) {
        return *std::move(found);
    }
    throwBadInput(fmt::format("{} is missing.", where(key)),
                  "Check that the file belongs to this model.");
}

} // namespace ecokv::model
