// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/tokenizer_file.h"

#include "base/error.h"
#include "model/text/json_scanner.h"

#include <fmt/format.h>

namespace ecokv::model {

namespace {

/// Takes a value out of the text that is parsed as a tree.
class Cutter {
public:
    explicit Cutter(std::string_view text) : m_text(text) {}

    void take(std::string_view value, std::string_view& into) {
        const auto begin = static_cast<std::size_t>(value.data() - m_text.data());
        m_rest.append(m_text.substr(m_done, begin - m_done)).append("null");
        m_done = begin + value.size();
        into = value;
    }

    std::string rest() { return m_rest.append(m_text.substr(m_done)); }

private:
    std::string_view m_text;
    std::string m_rest;
    std::size_t m_done = 0;
};

void cutModel(JsonScanner& scanner, Cutter& cutter, TokenizerFile& file) {
    for (scanner.open('{'); scanner.nextElement('}');) {
        const std::string_view key = scanner.key();
        const bool vocabulary = key == "vocab", merges = key == "merges";
        const std::string_view value = scanner.value();
        if (value.front() != '[' && value.front() != '{') {
            continue;
        }
        if (vocabulary) {
            cutter.take(value, file.vocabulary);
        } else if (merges) {
            cutter.take(value, file.merges);
        }
    }
}

} // namespace

TokenizerFile TokenizerFile::parse(std::string_view text, const std::string& origin) {
    TokenizerFile file;
    Cutter cutter(text);
    try {
        JsonScanner scanner(text);
        for (scanner.open('{'); scanner.nextElement('}');) {
            const bool model = scanner.key() == "model";
            if (model && scanner.peek() == '{') {
                cutModel(scanner, cutter, file);
            } else {
                scanner.value();
            }
        }
        file.json = Json::parse(cutter.rest());
        return file;
    } catch (const JsonScanner::SyntaxError&) {
        parseJson(text, origin); // which knows the line
    } catch (const Json::parse_error&) {
        parseJson(text, origin);
    }
    throwBadInput(fmt::format("{} must hold a JSON object.", origin), "Download the file again.");
}

} // namespace ecokv::model
