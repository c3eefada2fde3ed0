#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What to do about a value in a file of a model folder that cannot be right: advice of errors, as a
// full sentence each.

#include "model/json_file.h"

#include <string>

namespace ecokv::model {

/// "Set text_config.head_dim as in the config.json that the model was published with, or ..."
std::string restoreAdvice(const JsonObject& object, const char* key);

/// For a tokenizer.json whose parts contradict each other.
inline constexpr const char* kTokenizerAdvice =
    "The file is damaged or was edited by hand: download it again, or in Python write it anew with "
    "`AutoTokenizer.from_pretrained(ORIGINAL).save_pretrained(FOLDER)`.";

/// For two files of a folder that contradict each other.
inline constexpr const char* kMixedFilesAdvice =
    "The two files belong to different models: download both from the same place.";

} // namespace ecokv::model
