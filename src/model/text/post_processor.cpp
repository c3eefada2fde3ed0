// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/post_processor.h"

#include "base/error.h"
#include "model/file_advice.h"

#include <fmt/format.h>

namespace ecokv::model {

namespace {

/// From ["</s>", 2].
TokenId readIdOf(const JsonObject& processor, const char* key) {
    const Json* token = processor.find(key);
    if (token == nullptr || !token->is_array() || token->size() != 2 ||
        !(*token)[1].is_number_integer()) {
        throwBadInput(fmt::format("{} must be a token and its id.", processor.where(key)),
                      "Write it as [\"</s>\", 2], or download tokenizer.json again.");
    }
    return (*token)[1].get<TokenId>();
}

} // namespace

PostProcessor PostProcessor::fromJson(const Json* node, const std::string& origin) {
    PostProcessor processor;
    if (node != nullptr) {
        processor.add(*node, origin);
    }
    return processor;
}

void PostProcessor::add(const Json& node, const std::string& origin) {
    const JsonObject object(node, origin, "post_processor");
    const std::string type = object.string("type", "");
    if (type == "Sequence") {
        const Json* parts = object.find("processors");
        for (const Json& part : parts != nullptr ? *parts : Json::array()) {
            add(part, origin);
        }
    } else if (type == "TemplateProcessing") {
        m_templates.push_back(readTemplate(object));
    } else if (type == "BertProcessing" || type == "RobertaProcessing") {
        m_templates.push_back({{readIdOf(object, "cls")}, {readIdOf(object, "sep")}});
    } else if (type != "ByteLevel") { // which only moves offsets, and we keep none
        throwBadInput(
            fmt::format("{}: the post-processor \"{}\" is not supported.", origin, type),
            "Supported are TemplateProcessing, ByteLevel, BertProcessing, RobertaProcessing and "
            "sequences.");
    }
}

PostProcessor::Template PostProcessor::readTemplate(const JsonObject& node) {
    Template result;
    bool textSeen = false;
    const Json* single = node.find("single");
    if (single == nullptr || !single->is_array()) {
        throwBadInput(fmt::format("{} must be a list.", node.where("single")), kTokenizerAdvice);
    }
    for (const Json& part : *single) {
        const JsonObject entry(part, node.origin(), "post_processor.single");
        if (entry.has("Sequence")) {
            if (textSeen) {
                throwBadInput(fmt::format("{} holds the text twice.", node.where("single")),
                              "A template for one text names \"Sequence\" once; download "
                              "tokenizer.json again.");
            }
            textSeen = true;
            continue;
        }
        const std::string name = entry.object("SpecialToken").string("id", "");
        const JsonObject special = node.object("special_tokens").object(name.c_str());
        const Json* ids = special.find("ids");
        for (const Json& id : ids != nullptr ? *ids : Json::array()) {
            if (!id.is_number_integer()) {
                throwBadInput(fmt::format("{} holds {}, which is no token id.",
                                          special.where("ids"), id.dump()),
                              kTokenizerAdvice);
            }
            (textSeen ? result.after : result.before).push_back(id.get<TokenId>());
        }
    }
    if (!textSeen) {
        throwBadInput(fmt::format("{} does not hold the text.", node.where("single")),
                      "A template for one text names {\"Sequence\": {\"id\": \"A\"}} once; "
                      "download tokenizer.json again.");
    }
    return result;
}

std::vector<TokenId> PostProcessor::addSpecialTokens(std::vector<TokenId> ids) const {
    for (const Template& frame : m_templates) {
        ids.insert(ids.begin(), frame.before.begin(), frame.before.end());
        ids.insert(ids.end(), frame.after.begin(), frame.after.end());
    }
    return ids;
}

} // namespace ecokv::model
