#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Reads a render recipe and its fields; every complaint is an Error{Usage} that names the file, the
// figure and the field. Private to ui/plots. Any thread.

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace ecokv::ui {

template <class Number> struct Limits {
    Number low, high; ///< both allowed
};

/// One object of "figures".
class RecipeEntry {
public:
    /// `place` names it in complaints: "recipe.json, figures[2]". Throws for unknown fields.
    RecipeEntry(nlohmann::json fields, std::string place);

    std::string text(const std::string& field, const std::string& missing) const;
    std::int64_t integer(const std::string& field, std::int64_t missing,
                         Limits<std::int64_t> limits) const;
    double number(const std::string& field, double missing, Limits<double> limits) const;
    /// One of `allowed`; the first if the field is missing.
    std::string choice(const std::string& field, std::initializer_list<const char*> allowed) const;
    /// One of `allowed`; the field must be there.
    std::string required(const std::string& field,
                         std::initializer_list<const char*> allowed) const;
    /// The field "file": a bare name with a figure's suffix, so that nothing leaves the folder.
    std::filesystem::path fileName() const;

    [[noreturn]] void fail(const std::string& field, const std::string& what,
                           const std::string& advice) const;

private:
    nlohmann::json m_fields;
    std::string m_place;
};

struct Recipe {
    std::filesystem::path trace; ///< "" = not named; relative to the recipe's folder
    std::vector<RecipeEntry> figures;
};

Recipe readRecipe(const std::filesystem::path& path);

} // namespace ecokv::ui
