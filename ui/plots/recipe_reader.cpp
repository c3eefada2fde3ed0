// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/recipe_reader.h"

#include "base/error.h"

#include <algorithm>
#include <array>
#include <fstream>

namespace ecokv::ui {
namespace {

constexpr std::array kFields = {"kind",   "file",  "metric", "policy",  "layer",
                                "head",   "mode",  "image",  "patches", "width",
                                "height", "scale", "theme",  "x",       "diversity"};
constexpr std::array kSuffixes = {".png", ".svg", ".pdf", ".csv"};

template <class Names> std::string listed(const Names& names) {
    std::string list;
    for (const char* name : names) {
        list += (list.empty() ? "" : ", ") + std::string(name);
    }
    return list;
}

template <class Names> bool holds(const Names& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

template <class Number> std::string span(const Limits<Number>& limits) {
    return nlohmann::json(limits.low).dump() + " to " + nlohmann::json(limits.high).dump();
}

nlohmann::json parseFile(const std::filesystem::path& path) {
    std::ifstream stream(path);
    if (!stream) {
        throwBadInput("The recipe " + path.string() + " cannot be opened.",
                      "Check the path after --render.");
    }
    try {
        return nlohmann::json::parse(stream);
    } catch (const nlohmann::json::parse_error& error) {
        throwUsage("The recipe " + path.string() + " is not JSON: " + error.what() + ".");
    }
}

} // namespace

RecipeEntry::RecipeEntry(nlohmann::json fields, std::string place)
    : m_fields(std::move(fields)), m_place(std::move(place)) {
    if (!m_fields.is_object()) {
        throwUsage("The recipe " + m_place + " is not an object.",
                   "Write {\"kind\": ..., \"file\": ...}.");
    }
    for (const auto& [name, value] : m_fields.items()) {
        if (!holds(kFields, name)) {
            fail(name, "is not known", "Known fields: " + listed(kFields) + ".");
        }
    }
}

void RecipeEntry::fail(const std::string& field, const std::string& what,
                       const std::string& advice) const {
    throwUsage("The recipe " + m_place + ": field \"" + field + "\" " + what + ".", advice);
}

std::string RecipeEntry::text(const std::string& field, const std::string& missing) const {
    const auto found = m_fields.find(field);
    if (found == m_fields.end()) {
        return missing;
    }
    if (!found->is_string()) {
        fail(field, "is " + found->dump() + ", not text", "Write it in quotes.");
    }
    return found->get<std::string>();
}

std::int64_t RecipeEntry::integer(const std::string& field, std::int64_t missing,
                                  Limits<std::int64_t> limits) const {
    const auto found = m_fields.find(field);
    if (found == m_fields.end()) {
        return missing;
    }
    if (!found->is_number_integer() || found->get<std::int64_t>() < limits.low ||
        found->get<std::int64_t>() > limits.high) {
        fail(field, "is " + found->dump(), "It takes a whole number from " + span(limits) + ".");
    }
    return found->get<std::int64_t>();
}

double RecipeEntry::number(const std::string& field, double missing, Limits<double> limits) const {
    const auto found = m_fields.find(field);
    if (found == m_fields.end()) {
        return missing;
    }
    if (!found->is_number() || found->get<double>() < limits.low ||
        found->get<double>() > limits.high) {
        fail(field, "is " + found->dump(), "It takes a number from " + span(limits) + ".");
    }
    return found->get<double>();
}

std::string RecipeEntry::choice(const std::string& field,
                                std::initializer_list<const char*> allowed) const {
    const std::string value = text(field, *allowed.begin());
    if (!holds(allowed, value)) {
        fail(field, "is \"" + value + "\"", "It takes one of: " + listed(allowed) + ".");
    }
    return value;
}

std::string RecipeEntry::required(const std::string& field,
                                  std::initializer_list<const char*> allowed) const {
    if (!m_fields.contains(field)) {
        fail(field, "is missing", "It takes one of: " + listed(allowed) + ".");
    }
    return choice(field, allowed);
}

std::filesystem::path RecipeEntry::fileName() const {
    const std::filesystem::path name = text("file", "");
    if (name.empty() || name.has_parent_path() || !holds(kSuffixes, name.extension().string())) {
        fail("file", "is \"" + name.string() + "\"",
             "It takes a file name without folders that ends in one of: " + listed(kSuffixes) +
                 ".");
    }
    return name;
}

Recipe readRecipe(const std::filesystem::path& path) {
    const nlohmann::json json = parseFile(path);
    const auto figures = json.is_object() ? json.find("figures") : json.end();
    if (!json.is_object() || figures == json.end() || !figures->is_array() || figures->empty()) {
        throwUsage("The recipe " + path.string() + " has no list \"figures\".",
                   "See resources/recipes/demo.json.");
    }
    Recipe recipe;
    if (const auto trace = json.find("trace"); trace != json.end()) {
        if (!trace->is_string()) {
            throwUsage("The recipe " + path.string() + ": field \"trace\" is not text.");
        }
        recipe.trace = path.parent_path() / trace->get<std::string>();
    }
    for (std::size_t i = 0; i < figures->size(); ++i) {
        recipe.figures.emplace_back((*figures)[i],
                                    path.string() + ", figures[" + std::to_string(i) + "]");
    }
    return recipe;
}

} // namespace ecokv::ui
