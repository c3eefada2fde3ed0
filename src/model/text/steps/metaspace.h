#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// SentencePiece's spaces: written as "▁" when words are cut, and read back when they are decoded.
// `prepend_scheme` says whether a word gets one in front (always, first, never: field case F108).

#include "model/text/decoder.h"
#include "model/text/pre_tokenizer.h"

#include <cstdint>
#include <string>

namespace ecokv::model {

struct Metaspace {
    enum class Prepend : std::uint8_t { Always, First, Never };

    std::string sign = "\u2581";
    Prepend prepend = Prepend::Always;
    bool splits = true;

    static Metaspace fromJson(const JsonObject& step);
};

class MetaspaceSplit : public PreTokenizer::Step {
public:
    explicit MetaspaceSplit(Metaspace metaspace) : m_metaspace(std::move(metaspace)) {}
    void split(Word word, std::vector<Word>& parts) const override;

private:
    Metaspace m_metaspace;
};

class MetaspaceDecoder : public Decoder::Step {
public:
    explicit MetaspaceDecoder(Metaspace metaspace) : m_metaspace(std::move(metaspace)) {}
    void apply(std::vector<std::string>& tokens) const override;

private:
    Metaspace m_metaspace;
};

} // namespace ecokv::model
