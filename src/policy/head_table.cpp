// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/head_table.h"

#include "base/choice_table.h"
#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ecokv::policy {

namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "ecokv-head-table";
constexpr std::int32_t kMostHeads = 1 << 20; ///< a sane limit before anything is allocated
constexpr ChoiceTable<HeadTableKind, 2> kKinds{
    {{"weights", HeadTableKind::Weights}, {"redundancy", HeadTableKind::Redundancy}}};

[[noreturn]] void refuse(const std::string& file, const std::string& why,
                         const std::string& advice = "The README describes head tables.") {
    throwBadInput(fmt::format("The head table {} cannot be used: {}.", file, why), advice);
}

Json parsed(const std::string& file) {
    std::error_code unreadable;
    if (!std::filesystem::is_regular_file(file, unreadable)) {
        refuse(file, "there is no such file", "Check the path.");
    }
    std::ifstream stream(file, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(stream)), {});
    Json json = Json::parse(text, nullptr, false);
    if (!json.is_object() || json.value("format", Json()) != kFormat) {
        refuse(file, fmt::format("it is no JSON object with \"format\": \"{}\"", kFormat));
    }
    return json;
}

std::int32_t count(const Json& json, const char* field, const std::string& file) {
    const Json value = json.value(field, Json());
    if (!value.is_number_integer() || value < 1 || value > kMostHeads) {
        refuse(file, fmt::format("\"{}\" is {}, not a number of at least 1", field, value.dump()));
    }
    return value.get<std::int32_t>();
}

/// Row `layer` of "values" appended to the table; null is a layer without a KV cache.
void readLayer(const Json& row, HeadTable& table, const std::string& file, std::int32_t layer) {
    if (row.is_null()) {
        table.values.insert(table.values.end(), static_cast<std::size_t>(table.kvHeads),
                            std::numeric_limits<double>::quiet_NaN());
        return;
    }
    if (!row.is_array() || row.size() != static_cast<std::size_t>(table.kvHeads)) {
        refuse(file, fmt::format("layer {} of its values does not hold {} numbers", layer,
                                 table.kvHeads));
    }
    const double most =
        table.kind == HeadTableKind::Redundancy ? 1.0 : std::numeric_limits<double>::max();
    for (std::size_t head = 0; head < row.size(); ++head) {
        const double value = row[head].is_number() ? row[head].get<double>() : std::nan("");
        if (!(value >= 0 && value <= most)) { // written so that NaN is refused too
            refuse(file,
                   fmt::format("layer {} head {} is {}, not a {}", layer, head, row[head].dump(),
                               table.kind == HeadTableKind::Redundancy
                                   ? "redundancy between 0 and 1"
                                   : "finite weight of at least 0"));
        }
        table.values.push_back(value);
    }
}

} // namespace

bool HeadTable::isUncached(std::int32_t layer) const {
    return std::isnan(values[static_cast<std::size_t>(std::int64_t{layer} * kvHeads)]);
}

HeadTable readHeadTable(const std::string& file, HeadTableKind kind) {
    const Json json = parsed(file);
    const Json kindName = json.value("kind", Json());
    if (kindName != nameOf(kKinds, kind)) {
        refuse(file, fmt::format("its kind is {} and \"{}\" is needed", kindName.dump(),
                                 nameOf(kKinds, kind)));
    }
    HeadTable table;
    table.kind = kind;
    const Json model = json.value("model", Json());
    if (!model.is_string() || model.get<std::string>().empty()) {
        refuse(file, "it does not name its model");
    }
    table.model = model.get<std::string>();
    table.layers = count(json, "layers", file);
    table.kvHeads = count(json, "kv_heads", file);
    const Json values = json.value("values", Json());
    if (!values.is_array() || values.size() != static_cast<std::size_t>(table.layers)) {
        refuse(file, fmt::format("its values are not a list of {} layers", table.layers));
    }
    for (std::int32_t layer = 0; layer < table.layers; ++layer) {
        readLayer(values[static_cast<std::size_t>(layer)], table, file, layer);
    }
    if (std::ranges::all_of(table.values, [](double value) { return std::isnan(value); })) {
        refuse(file, "every layer is null, so it holds no number");
    }
    if (kind == HeadTableKind::Weights &&
        std::ranges::none_of(table.values, [](double value) { return value > 0; })) {
        refuse(file, "every weight is 0");
    }
    return table;
}

void checkHeadTable(const HeadTable& table, const std::string& file, const ModelShape& shape) {
    if (shape.layers > 0 && (table.layers != shape.layers || table.kvHeads != shape.kvHeads)) {
        refuse(file,
               fmt::format("it holds {} layers x {} KV heads and the model has {} x {}",
                           table.layers, table.kvHeads, shape.layers, shape.kvHeads),
               "Use a table that was made with this model.");
    }
    if (!shape.model.empty() && table.model != shape.model) {
        refuse(file,
               fmt::format("it was made for the model \"{}\" and this is \"{}\"", table.model,
                           shape.model),
               "Use a table that was made with this model.");
    }
    for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
        if (table.isUncached(layer) && !shape.isLinear(layer)) {
            refuse(file,
                   fmt::format("layer {} is null, as of a layer without a KV cache, and the "
                               "model's layer {} has one",
                               layer, layer),
                   "Write a number for each of its KV heads.");
        }
    }
}

std::string headTableJson(const HeadTable& table) {
    Json values = Json::array();
    for (std::int32_t layer = 0; layer < table.layers; ++layer) {
        if (table.isUncached(layer)) {
            values.push_back(nullptr);
            continue;
        }
        const auto begin = table.values.begin() + std::ptrdiff_t{layer} * table.kvHeads;
        values.push_back(std::vector<double>(begin, begin + table.kvHeads));
    }
    const Json json{{"format", kFormat},         {"kind", nameOf(kKinds, table.kind)},
                    {"model", table.model},      {"layers", table.layers},
                    {"kv_heads", table.kvHeads}, {"values", values}};
    return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace ecokv::policy
