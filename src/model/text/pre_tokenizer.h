#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The pre-tokeniser of a tokenizer.json: cuts text into the words that the model encodes one by
// one, and may rewrite them (byte alphabet, "▁" for spaces). The rule is always the file's own
// (field case F106). Unknown steps are refused by name. Immutable.

#include "model/json_file.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ecokv::model {

struct Word {
    std::string text;
    bool startsPrompt = false; ///< begins where the whole text begins (field case F108)
};

class PreTokenizer {
public:
    static PreTokenizer fromJson(const Json* node, const std::string& origin);

    /// Words of one piece of text; none is empty.
    std::vector<Word> split(Word piece) const;
    bool writesByteAlphabet() const;

    class Step {
    public:
        virtual ~Step() = default;
        /// Appends the parts of `word`; empty ones are dropped later.
        virtual void split(Word word, std::vector<Word>& parts) const = 0;
        virtual bool writesByteAlphabet() const { return false; }
    };

private:
    void add(const Json& node, const std::string& origin);

    std::vector<std::shared_ptr<const Step>> m_steps;
};

} // namespace ecokv::model
