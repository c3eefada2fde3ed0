// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/text/text_pattern.h"

#include "base/error.h"
#include "model/text/utf8.h"

#include <algorithm>
#include <array>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

namespace ecokv::model {

struct TextPattern::Code {
    pcre2_code* code = nullptr; ///< null: `literal` is looked for
    std::string literal;
    ~Code() { pcre2_code_free(code); }
};

namespace {

std::string pcreMessage(int code) {
    std::array<PCRE2_UCHAR, 256> buffer{};
    pcre2_get_error_message(code, buffer.data(), buffer.size());
    return reinterpret_cast<const char*>(buffer.data());
}

/// Oniguruma's word characters; of the superscripts and fractions only Latin-1's are some.
constexpr const char* kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";

/// Rewrites the escapes whose meaning differs and refuses what would silently match otherwise.
class OnigurumaToPcre {
public:
    OnigurumaToPcre(const std::string& pattern, const std::string& origin)
        : m_pattern(pattern), m_origin(origin) {}

    std::string translate() {
        for (m_at = 0; m_at < m_pattern.size(); ++m_at) {
            step(m_pattern[m_at]);
        }
        return m_result;
    }

private:
    void step(char c) {
        if (c == '\\' && m_at + 1 < m_pattern.size()) {
            escape(m_pattern[++m_at]);
            return;
        }
        if (m_inClass) {
            if (c == '[') {
                refuse("a class inside a class");
            }
            if (c == '&' && next() == '&') {
                refuse("an intersection of classes");
            }
            m_inClass = c != ']' || m_at == m_classStart;
        } else if (c == '[') {
            m_inClass = true;
            m_classStart = m_at + (next() == '^' ? 2 : 1); // a bracket there is a plain character
        } else if (c == '}' && next() == '+') {
            refuse("a possessive interval");
        }
        m_result += c;
    }

    char next() const { return m_at + 1 < m_pattern.size() ? m_pattern[m_at + 1] : '\0'; }

    void escape(char c) {
        switch (c) {
        case 's':
            m_result += "\\p{White_Space}"; // PCRE2's own \s has U+180E in it
            break;
        case 'S':
            m_result += "\\P{White_Space}";
            break;
        case 'w':
            m_result += m_inClass ? kWord : fmt::format("[{}]", kWord);
            break;
        case 'W':
            if (m_inClass) {
                refuse("\\W inside a class");
            }
            m_result += fmt::format("[^{}]", kWord);
            break;
        case 'h': // a hexadecimal digit there, horizontal space here
        case 'H':
        case 'R':
        case 'X':
        case 'Z':
            refuse(fmt::format("\\{}", c));
        default:
            m_result += '\\';
            m_result += c;
            copyBraces();
        }
    }

    /// The braces of \p{L} or \x{41}, which are no interval.
    void copyBraces() {
        const std::size_t end = next() == '{' ? m_pattern.find('}', m_at) : std::string::npos;
        if (end != std::string::npos) {
            m_result += m_pattern.substr(m_at + 1, end - m_at);
            m_at = end;
        }
    }

    [[noreturn]] void refuse(const std::string& what) const {
        throwBadInput(fmt::format("{}: the pattern {} uses {}, which is not supported.", m_origin,
                                  m_pattern, what),
                      "Report it with the name of the model: its tokens would differ from the "
                      "reference, so it is not guessed.");
    }

    const std::string& m_pattern;
    const std::string& m_origin;
    std::string m_result;
    std::size_t m_at = 0;
    std::size_t m_classStart = 0;
    bool m_inClass = false;
};

struct MatchData {
    pcre2_match_data* data;
    explicit MatchData(const pcre2_code* code)
        : data(pcre2_match_data_create_from_pattern(code, nullptr)) {}
    ~MatchData() { pcre2_match_data_free(data); }
    MatchData(const MatchData&) = delete;
    MatchData& operator=(const MatchData&) = delete;
};

/// False if nothing matches from `start` on.
bool matchFrom(const pcre2_code* code, std::string_view text, std::size_t start, MatchData& match,
               TextSpan& found) {
    const int result = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                   start, PCRE2_NO_UTF_CHECK, match.data, nullptr);
    if (result == PCRE2_ERROR_NOMATCH) {
        return false;
    }
    if (result < 0) {
        throwBadInput(fmt::format("Splitting the text into words failed: {}.", pcreMessage(result)),
                      "Shorten the text.");
    }
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(match.data);
    found = {bounds[0], bounds[1]};
    return true;
}

} // namespace

TextPattern TextPattern::regex(const std::string& pattern, const std::string& origin) {
    const std::string translated = OnigurumaToPcre(pattern, origin).translate();
    int error = 0;
    PCRE2_SIZE offset = 0;
    auto code = std::make_shared<Code>();
    code->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                               PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &offset, nullptr);
    if (code->code == nullptr) {
        throwBadInput(fmt::format("{}: the pattern {} cannot be compiled: {} (at {}).", origin,
                                  pattern, pcreMessage(error), offset),
                      "Check that tokenizer.json is complete; if the reference reads this pattern, "
                      "report it with the name of the model.");
    }
    pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE); // without it matching is only slower
    return TextPattern(std::move(code));
}

TextPattern TextPattern::literal(const std::string& text, const std::string& origin) {
    if (text.empty()) { // which matches everywhere, once between all characters
        return regex("", origin);
    }
    auto code = std::make_shared<Code>();
    code->literal = text;
    return TextPattern(std::move(code));
}

std::vector<TextSpan> TextPattern::findLiterals(std::string_view text) const {
    std::vector<TextSpan> spans;
    const std::string& literal = m_code->literal;
    for (std::size_t at = text.find(literal); at != std::string_view::npos;
         at = text.find(literal, at + literal.size())) {
        spans.push_back({at, at + literal.size()});
    }
    return spans;
}

std::vector<TextSpan> TextPattern::findAll(std::string_view text) const {
    if (m_code->code == nullptr) {
        return findLiterals(text);
    }
    std::vector<TextSpan> spans;
    MatchData match(m_code->code);
    std::size_t start = 0;
    TextSpan found;
    while (start <= text.size() && matchFrom(m_code->code, text, start, match, found)) {
        const bool repeatedEmpty =
            found.begin == found.end && !spans.empty() && spans.back().end == found.end;
        if (!repeatedEmpty) {
            spans.push_back(found);
        }
        start = found.end;
        if (found.begin == found.end) {
            start += start < text.size() ? utf8At(text, start).length : 1;
        }
    }
    return spans;
}

TextSpan TextPattern::findFirst(std::string_view text) const {
    if (m_code->code == nullptr) {
        const std::size_t at = std::min(text.find(m_code->literal), text.size());
        return {at, std::min(at + m_code->literal.size(), text.size())};
    }
    MatchData match(m_code->code);
    TextSpan found;
    return matchFrom(m_code->code, text, 0, match, found) ? found
                                                          : TextSpan{text.size(), text.size()};
}

} // namespace ecokv::model
