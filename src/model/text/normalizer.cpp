// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/normalizer.h"

#include "base/error.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <utf8proc.h>

namespace ecokv::model {

namespace {

constexpr std::array kForms{
    std::pair{"NFC", UnicodeForm::Nfc},
    std::pair{"NFD", UnicodeForm::Nfd},
    std::pair{"NFKC", UnicodeForm::Nfkc},
    std::pair{"NFKD", UnicodeForm::Nfkd},
};

utf8proc_option_t optionsOf(UnicodeForm form) {
    const bool composes = form == UnicodeForm::Nfc || form == UnicodeForm::Nfkc;
    const bool compatible = form == UnicodeForm::Nfkc || form == UnicodeForm::Nfkd;
    return static_cast<utf8proc_option_t>(UTF8PROC_STABLE |
                                          (composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                                          (compatible ? UTF8PROC_COMPAT : 0));
}

std::string toForm(const std::string& text, UnicodeForm form) {
    utf8proc_uint8_t* result = nullptr;
    const auto length =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                     static_cast<utf8proc_ssize_t>(text.size()), &result, optionsOf(form));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(result, &std::free);
    if (length < 0) {
        throwBadInput(fmt::format("The text cannot be brought into a Unicode normal form: {}.",
                                  utf8proc_errmsg(length)));
    }
    return {reinterpret_cast<const char*>(result), static_cast<std::size_t>(length)};
}

} // namespace

Normalizer Normalizer::fromJson(const Json* node, const std::string& origin) {
    Normalizer normalizer;
    if (node != nullptr) {
        normalizer.add(*node, origin);
    }
    return normalizer;
}

void Normalizer::add(const Json& node, const std::string& origin) {
    const JsonObject object(node, origin, "normalizer");
    const std::string type = object.string("type", "");
    if (type == "Sequence") {
        const Json* parts = object.find("normalizers");
        for (const Json& part : parts != nullptr ? *parts : Json::array()) {
            add(part, origin);
        }
        return;
    }
    for (const auto& [name, form] : kForms) {
        if (type == name) {
            m_forms.push_back(form);
            return;
        }
    }
    throwBadInput(fmt::format("{}: the normaliser \"{}\" is not supported yet.", origin, type),
                  "Supported are NFC, NFD, NFKC, NFKD and sequences of them.");
}

std::string Normalizer::apply(std::string_view text) const {
    std::string result(text);
    for (const UnicodeForm form : m_forms) {
        result = toForm(result, form);
    }
    return result;
}

} // namespace ecokv::model
