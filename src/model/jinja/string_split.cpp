// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/string_split.h"

#include "model/jinja/characters.h"
#include "model/text/utf8.h"

#include <algorithm>
#include <utility>

namespace ecokv::jinja {

List splitAtSpace(const std::string& text, std::int64_t limit) {
    List words;
    std::string word;
    std::size_t wordBegin = 0;
    for (std::size_t i = 0; i < text.size();) {
        const model::Utf8Char c = model::utf8At(text, i);
        if (!isSpace(c.codePoint)) {
            wordBegin = word.empty() ? i : wordBegin;
            word.append(text, i, c.length);
            if (limit >= 0 && std::ssize(words) == limit) { // the rest stays whole
                words.emplace_back(text.substr(wordBegin));
                return words;
            }
        } else if (!word.empty()) {
            words.emplace_back(std::exchange(word, {}));
        }
        i += c.length;
    }
    if (!word.empty()) {
        words.emplace_back(std::move(word));
    }
    return words;
}

/// The text turned round, and the parts turned back.
List splitAtSpaceFromRight(const std::string& text, std::int64_t limit) {
    List parts = splitAtSpace(reversed(text), limit);
    for (Value& part : parts) {
        part = Value(reversed(part.asString()));
    }
    std::ranges::reverse(parts);
    return parts;
}

List splitAt(const std::string& text, const std::string& separator, std::int64_t limit) {
    List parts;
    std::size_t begin = 0;
    while (limit < 0 || std::ssize(parts) < limit) {
        const std::size_t at = text.find(separator, begin);
        if (at == std::string::npos) {
            break;
        }
        parts.emplace_back(text.substr(begin, at - begin));
        begin = at + separator.size();
    }
    parts.emplace_back(text.substr(begin));
    return parts;
}

List splitAtFromRight(const std::string& text, const std::string& separator, std::int64_t limit) {
    List parts;
    std::size_t end = text.size();
    while (limit < 0 || std::ssize(parts) < limit) {
        const std::size_t at = end < separator.size()
                                   ? std::string::npos
                                   : text.rfind(separator, end - separator.size());
        if (at == std::string::npos) {
            break;
        }
        parts.emplace_back(text.substr(at + separator.size(), end - at - separator.size()));
        end = at;
    }
    parts.emplace_back(text.substr(0, end));
    std::ranges::reverse(parts);
    return parts;
}

List splitIntoLines(const std::string& text, bool keepsEnds) {
    List lines;
    std::string line;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\n' && text[i] != '\r') {
            line += text[i];
            continue;
        }
        std::string end(1, text[i]);
        if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
            end += text[++i];
        }
        lines.emplace_back(keepsEnds ? line + end : line);
        line.clear();
    }
    if (!line.empty()) {
        lines.emplace_back(line);
    }
    return lines;
}

} // namespace ecokv::jinja
