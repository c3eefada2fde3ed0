// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/models/token_model.h"

#include "base/error.h"
#include "model/text/models/bpe_model.h"
#include "model/text/models/unigram_model.h"

#include <fmt/format.h>

namespace ecokv::model {

std::unique_ptr<const TokenModel> readTokenModel(const JsonObject& model,
                                                 const TokenizerFile& file) {
    const std::string type = model.string("type", "BPE"); // old files do not name it
    if (type == "BPE") {
        return std::make_unique<BpeModel>(model, file);
    }
    if (type == "Unigram") {
        return std::make_unique<UnigramModel>(model, file);
    }
    const bool encoder = type == "WordPiece" || type == "WordLevel";
    throwBadInput(fmt::format("{} = \"{}\" is not supported.", model.where("type"), type),
                  encoder ? "Supported are BPE and Unigram; language models that answer do not use "
                            "this one, so the file may belong to a text encoder."
                          : "Supported are BPE and Unigram.");
}

} // namespace ecokv::model
