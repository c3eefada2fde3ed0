// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/config_values.h"

#include "base/error.h"
#include "model/file_advice.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

namespace ecokv::model {

std::int32_t size(const JsonObject& object, const char* key, std::int64_t fallback) {
    const std::int64_t value = object.integer(key, fallback);
    if (value < 1 || value > std::numeric_limits<std::int32_t>::max()) {
        throwBadInput(fmt::format("{} = {} must be at least 1 and fit into 32 bits.",
                                  object.where(key), value),
                      restoreAdvice(object, key));
    }
    return static_cast<std::int32_t>(value);
}

double epsilon(const JsonObject& object, const char* key, double fallback) {
    const double value = object.number(key, fallback);
    if (!(value >= 0.0 && value < 1.0)) {
        throwBadInput(
            fmt::format("{} = {} is not a small positive number.", object.where(key), value),
            fmt::format("Usual are 1e-5 and 1e-6. {}", restoreAdvice(object, key)));
    }
    return value;
}

Activation activation(const JsonObject& object, const char* key, const char* fallback) {
    constexpr std::array kNames{
        std::pair{"silu", Activation::Silu},
        std::pair{"swish", Activation::Silu},
        std::pair{"gelu", Activation::Gelu},
        std::pair{"gelu_new", Activation::GeluTanh},
        std::pair{"gelu_pytorch_tanh", Activation::GeluTanh},
        std::pair{"quick_gelu", Activation::QuickGelu},
        std::pair{"relu", Activation::Relu},
    };
    const std::string name = object.string(key, fallback);
    for (const auto& [known, value] : kNames) {
        if (name == known) {
            return value;
        }
    }
    throwBadInput(fmt::format("{} = \"{}\" is not supported.", object.where(key), name),
                  "Supported are silu, gelu, gelu_new, gelu_pytorch_tanh, quick_gelu and relu.");
}

std::vector<TokenId> tokenList(const JsonObject& object, const char* key) {
    const Json* value = object.find(key);
    if (value == nullptr) {
        return {};
    }
    std::vector<TokenId> ids;
    for (const Json& id : value->is_array() ? *value : Json::array({*value})) {
        if (!id.is_number_integer() || id.get<std::int64_t>() < 0 ||
            id.get<std::int64_t>() > std::numeric_limits<TokenId>::max()) {
            throwBadInput(fmt::format("{} = {} must be a token id or a list of them.",
                                      object.where(key), value->dump()),
                          "A token id is a whole number from 0 on, as 2; several stand in a list, "
                          "as [1, 106].");
        }
        ids.push_back(id.get<TokenId>());
    }
    return ids;
}

TokenId tokenOf(const JsonObject& config, const std::string& role, TokenId fallback) {
    const std::string older = role + "_index";
    const std::string key = config.has(older.c_str()) ? older : role + "_id";
    const std::int64_t token = config.integer(key.c_str(), fallback);
    if (token < 0 || token > std::numeric_limits<TokenId>::max()) {
        throwBadInput(fmt::format("{} = {} is not a token id.", config.where(key.c_str()), token),
                      restoreAdvice(config, key.c_str()));
    }
    return static_cast<TokenId>(token);
}

TokenId imageToken(const JsonObject& config, TokenId fallback) {
    return tokenOf(config, "image_token", fallback);
}

void refuseModelType(const JsonObject& object, const char* part, const char* supported) {
    throwBadInput(fmt::format("{} = \"{}\": this {} is not supported yet.",
                              object.where("model_type"), object.string("model_type", ""), part),
                  fmt::format("Supported here: {}.", supported));
}

} // namespace ecokv::model
