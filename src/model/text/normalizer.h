#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The normaliser of a tokenizer.json: a sequence of steps that rewrite the text before it is cut
// into words (field cases F111, F112). Unknown steps are refused by name. Immutable.

#include "model/json_file.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ecokv::model {

struct NormalizedText {
    std::string text;
    /// False if characters were taken from the front: then no part of it counts as the beginning
    /// of the prompt any more, as in the reference (Metaspace's "first").
    bool keepsStart = true;
};

class Normalizer {
public:
    Normalizer() = default; ///< changes nothing
    static Normalizer fromJson(const Json* node, const std::string& origin);

    NormalizedText apply(std::string_view text) const;
    bool empty() const { return m_steps.empty(); }
    bool writesByteAlphabet() const;

    class Step {
    public:
        virtual ~Step() = default;
        virtual void apply(NormalizedText& text) const = 0;
        virtual bool writesByteAlphabet() const { return false; }
    };

private:
    void add(const Json& node, const std::string& origin);

    std::vector<std::shared_ptr<const Step>> m_steps;
};

} // namespace ecokv::model
