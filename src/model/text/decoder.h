#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The decoder of a tokenizer.json: turns a row of tokens, as the vocabulary writes them, into text.
// Steps work on the whole row, since some look at neighbours (bytes that together are a character)
// or at the first token only (a space that encoding added). Unknown steps are refused by name.
// Immutable.

#include "model/json_file.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ecokv::model {

class Decoder {
public:
    /// Without a decoder tokens are joined by spaces, as the reference does.
    static Decoder fromJson(const Json* node, const std::string& origin);

    /// Valid UTF-8.
    std::string decode(std::vector<std::string> tokens) const;
    /// The same for tokens that follow others: no rule for the first token applies.
    std::string decodeFollowing(std::vector<std::string> tokens) const;
    /// The raw bytes of a token that follows others, which need not be complete characters.
    std::string bytesOf(const std::string& token) const;
    bool readsByteAlphabet() const;

    class Step {
    public:
        virtual ~Step() = default;
        virtual void apply(std::vector<std::string>& tokens) const = 0;
        /// What the step reads from a token if that is not text: its bytes.
        virtual std::optional<std::string> bytesOf(const std::string& /*token*/) const {
            return std::nullopt;
        }
        virtual bool readsByteAlphabet() const { return false; }
    };

private:
    void add(const Json& node, const std::string& origin);

    std::vector<std::shared_ptr<const Step>> m_steps;
};

} // namespace ecokv::model
