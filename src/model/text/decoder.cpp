// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/decoder.h"

#include "model/text/steps/decoder_steps.h"

#include <algorithm>

namespace ecokv::model {

namespace {

/// Stands before tokens that follow others, and is taken off again. No tokenizer rewrites it: it is
/// not a character.
const std::string kStandIn = "\U0010ffff";

} // namespace

Decoder Decoder::fromJson(const Json* node, const std::string& origin) {
    Decoder decoder;
    if (node != nullptr) {
        decoder.add(*node, origin);
    } else {
        decoder.m_steps.push_back(makeSpaceJoiner());
    }
    return decoder;
}

void Decoder::add(const Json& node, const std::string& origin) {
    const JsonObject object(node, origin, "decoder");
    if (object.string("type", "") != "Sequence") {
        m_steps.push_back(makeDecoderStep(object));
        return;
    }
    const Json* parts = object.find("decoders");
    for (const Json& part : parts != nullptr ? *parts : Json::array()) {
        add(part, origin);
    }
}

std::string Decoder::decode(std::vector<std::string> tokens) const {
    for (const auto& step : m_steps) {
        step->apply(tokens);
    }
    std::string text;
    for (const std::string& token : tokens) {
        text += token;
    }
    return text;
}

std::string Decoder::decodeFollowing(std::vector<std::string> tokens) const {
    tokens.insert(tokens.begin(), kStandIn);
    std::string text = decode(std::move(tokens));
    return text.starts_with(kStandIn) ? text.substr(kStandIn.size()) : text;
}

std::string Decoder::bytesOf(const std::string& token) const {
    for (const auto& step : m_steps) {
        if (auto bytes = step->bytesOf(token)) {
            return *std::move(bytes);
        }
    }
    return decodeFollowing({token});
}

bool Decoder::readsByteAlphabet() const {
    return std::ranges::any_of(m_steps, [](const auto& step) { return step->readsByteAlphabet(); });
}

} // namespace ecokv::model
