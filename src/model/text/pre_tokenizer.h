#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The pre-tokeniser of a tokenizer.json: cuts text into the words inside which BPE merges, and maps
// bytes to the alphabet of byte-level BPE. The rule is always the file's own (field case F106).

#include "model/json_file.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ecokv::model {

class PreTokenizer {
public:
    /// Throws Error{BadInput} for unknown parts, and if no part is ByteLevel.
    static PreTokenizer fromJson(const Json* node, const std::string& origin);

    /// Words of one piece of text, written in the byte alphabet.
    std::vector<std::string> split(std::string_view text) const;

    class Step;

private:
    std::vector<std::shared_ptr<const Step>> m_steps;
};

} // namespace ecokv::model
