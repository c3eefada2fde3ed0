#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The post-processor of a tokenizer.json: which special tokens stand before and behind raw text
// (field case F113). Knows TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel (which
// adds none) and sequences.

#include "base/ids.h"
#include "model/json_file.h"

#include <string>
#include <vector>

namespace ecokv::model {

class PostProcessor {
public:
    static PostProcessor fromJson(const Json* node, const std::string& origin);

    /// `ids` with the special tokens around it.
    std::vector<TokenId> addSpecialTokens(std::vector<TokenId> ids) const;

private:
    struct Template {
        std::vector<TokenId> before, after;
    };

    void add(const Json& node, const std::string& origin);
    static Template readTemplate(const JsonObject& node);

    std::vector<Template> m_templates; ///< applied in order
};

} // namespace ecokv::model
