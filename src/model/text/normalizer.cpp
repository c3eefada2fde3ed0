// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/normalizer.h"

#include "model/text/steps/normalizer_steps.h"

#include <algorithm>

namespace ecokv::model {

Normalizer Normalizer::fromJson(const Json* node, const std::string& origin) {
    Normalizer normalizer;
    if (node != nullptr) {
        normalizer.add(*node, origin);
    }
    return normalizer;
}

void Normalizer::add(const Json& node, const std::string& origin) {
    const JsonObject object(node, origin, "normalizer");
    if (object.string("type", "") != "Sequence") {
        m_steps.push_back(makeNormalizerStep(object));
        return;
    }
    const Json* parts = object.find("normalizers");
    for (const Json& part : parts != nullptr ? *parts : Json::array()) {
        add(part, origin);
    }
}

NormalizedText Normalizer::apply(std::string_view text) const {
    NormalizedText result{std::string(text)};
    for (const auto& step : m_steps) {
        step->apply(result);
    }
    return result;
}

bool Normalizer::writesByteAlphabet() const {
    return std::ranges::any_of(m_steps,
                               [](const auto& step) { return step->writesByteAlphabet(); });
}

} // namespace ecokv::model
