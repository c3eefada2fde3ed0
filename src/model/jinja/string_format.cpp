// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/string_format.h"

#include "model/jinja/characters.h"
#include "model/jinja/template_error.h"

#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace ecokv::jinja {

namespace {

constexpr int kMaxWidth = 10'000; // characters and digits

/// How one value is written: Python's format specification.
struct Spec {
    std::string fill = " ";
    char align = '\0'; ///< '<', '>', '^', '=' (behind the sign) or what suits the type
    char sign = '-';
    bool alternate = false;
    bool grouped = false; ///< thousands are parted by commas
    int width = 0;
    int precision = -1; ///< -1 = not given
    char type = '\0';
};

/// Takes characters of a specification one by one.
class SpecReader {
public:
    explicit SpecReader(std::string_view text) : m_text(text) {}

    bool atEnd() const { return m_at >= m_text.size(); }
    char peek(std::size_t ahead = 0) const {
        return m_at + ahead < m_text.size() ? m_text[m_at + ahead] : '\0';
    }
    char take() { return atEnd() ? '\0' : m_text[m_at++]; }
    bool skip(char c) {
        const bool matches = peek() == c && !atEnd();
        m_at += matches ? 1 : 0;
        return matches;
    }
    std::size_t offset() const { return m_at; }

    int number(int fallback) {
        int value = 0;
        const char* begin = m_text.data() + m_at;
        const auto [end, error] = std::from_chars(begin, m_text.data() + m_text.size(), value);
        if (error == std::errc::invalid_argument) {
            return fallback;
        }
        if (error != std::errc() || value > kMaxWidth) {
            throw TemplateError("a width or precision is too large");
        }
        m_at += static_cast<std::size_t>(end - begin);
        return value;
    }

private:
    std::string_view m_text;
    std::size_t m_at = 0;
};

bool isAlign(char c) {
    return c == '<' || c == '>' || c == '^' || c == '=';
}

Spec readBraceSpec(const std::string& text) {
    Spec spec;
    const auto characters = splitCharacters(text);
    std::size_t begin = 0;
    if (characters.size() > 1 && characters[1].size() == 1 && isAlign(characters[1][0])) {
        spec.fill = characters[0];
        begin = spec.fill.size();
    }
    SpecReader reader(std::string_view(text).substr(begin));
    if (isAlign(reader.peek())) {
        spec.align = reader.take();
    }
    if (reader.peek() == '+' || reader.peek() == '-' || reader.peek() == ' ') {
        spec.sign = reader.take();
    }
    spec.alternate = reader.skip('#');
    if (reader.skip('0') && spec.align == '\0') {
        spec.fill.assign(1, '0');
        spec.align = '=';
    }
    spec.width = reader.number(0);
    spec.grouped = reader.skip(',');
    if (reader.skip('.')) {
        spec.precision = reader.number(0);
    }
    spec.type = reader.take();
    if (!reader.atEnd()) {
        throw TemplateError(fmt::format("the format '{}' is not supported", text));
    }
    return spec;
}

std::string groupThousands(std::string digits) {
    const std::size_t whole = std::min(digits.find_first_of(".e"), digits.size());
    for (std::size_t i = whole; i > 3; i -= 3) {
        digits.insert(i - 3, 1, ',');
    }
    return digits;
}

std::string integerDigits(const Value& value, const Spec& spec) {
    const std::int64_t number =
        value.isDouble() ? static_cast<std::int64_t>(value.asDouble()) : value.asInteger();
    const auto magnitude = number < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(number)
                                      : static_cast<std::uint64_t>(number);
    switch (spec.type) {
    case 'x':
        return fmt::format("{}{:x}", spec.alternate ? "0x" : "", magnitude);
    case 'X':
        return fmt::format("{}{:X}", spec.alternate ? "0X" : "", magnitude);
    case 'o':
        return fmt::format("{}{:o}", spec.alternate ? "0o" : "", magnitude);
    case 'b':
        return fmt::format("{}{:b}", spec.alternate ? "0b" : "", magnitude);
    default:
        return fmt::format("{}", magnitude);
    }
}

std::string realDigits(double value, const Spec& spec) {
    const double magnitude = std::fabs(value);
    const int precision = spec.precision < 0 ? 6 : spec.precision;
    switch (spec.type) {
    case 'f':
    case 'F':
        return fmt::format("{:.{}f}", magnitude, precision);
    case 'e':
        return fmt::format("{:.{}e}", magnitude, precision);
    case 'E':
        return fmt::format("{:.{}E}", magnitude, precision);
    case 'g':
        return fmt::format("{:.{}g}", magnitude, precision);
    case 'G':
        return fmt::format("{:.{}G}", magnitude, precision);
    case '%':
        return fmt::format("{:.{}f}%", magnitude * 100.0, precision);
    default:
        return spec.precision < 0 ? formatDouble(magnitude)
                                  : fmt::format("{:.{}g}", magnitude, precision);
    }
}

std::string repeated(const std::string& text, std::size_t times) {
    std::string result;
    for (std::size_t i = 0; i < times; ++i) {
        result += text;
    }
    return result;
}

std::string pad(const std::string& sign, const std::string& body, const Spec& spec, char align) {
    const auto length = static_cast<std::size_t>(countCharacters(body)) + sign.size();
    const auto width = static_cast<std::size_t>(spec.width);
    const std::size_t missing = width > length ? width - length : 0;
    switch (align) {
    case '<':
        return sign + body + repeated(spec.fill, missing);
    case '^':
        return repeated(spec.fill, missing / 2) + sign + body +
               repeated(spec.fill, missing - missing / 2);
    case '=':
        return sign + repeated(spec.fill, missing) + body;
    default:
        return repeated(spec.fill, missing) + sign + body;
    }
}

bool isRealType(char type) {
    return std::string_view("fFeEgG%").find(type) != std::string_view::npos;
}

bool isIntegerType(char type) {
    return std::string_view("dxXob").find(type) != std::string_view::npos;
}

std::string formatNumber(const Value& value, const Spec& spec) {
    const bool integer = isIntegerType(spec.type) || (spec.type == '\0' && !value.isDouble());
    if (isIntegerType(spec.type) && value.isDouble()) {
        throw TemplateError(fmt::format("the format '{}' needs an integer", spec.type));
    }
    const bool negative = value.isDouble() ? std::signbit(value.asDouble()) : value.asInteger() < 0;
    std::string digits = integer ? integerDigits(value, spec) : realDigits(value.asDouble(), spec);
    if (spec.grouped) {
        digits = groupThousands(std::move(digits));
    }
    const std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
    return pad(sign, digits, spec, spec.align == '\0' ? '>' : spec.align);
}

std::string formatText(std::string text, const Spec& spec, char fallback) {
    if (spec.precision >= 0) {
        std::string cut;
        for (const std::string& character : splitCharacters(text)) {
            if (countCharacters(cut) < spec.precision) {
                cut += character;
            }
        }
        text = std::move(cut);
    }
    return pad("", text, spec, spec.align == '\0' || spec.align == '=' ? fallback : spec.align);
}

std::string formatBraceValue(const Value& value, const std::string& text) {
    if (text.empty()) {
        return value.text();
    }
    const Spec spec = readBraceSpec(text);
    const bool numeric =
        value.isNumber() && spec.type != 's' && (!value.isBool() || spec.type != '\0');
    if (!numeric && (isRealType(spec.type) || isIntegerType(spec.type)) && spec.type != '\0') {
        throw TemplateError(
            fmt::format("the format '{}' does not suit {}", text, value.typeName()));
    }
    return numeric ? formatNumber(value, spec) : formatText(value.text(), spec, '<');
}

/// One `%...` of a format; `reader` stands behind the per cent sign.
class PercentFields {
public:
    explicit PercentFields(const Value& values) : m_values(values) {}

    std::string format(SpecReader& reader) {
        const std::string name = readName(reader);
        const Spec spec = readSpec(reader);
        if (spec.type == '%') {
            return "%";
        }
        const Value value = name.empty() ? next() : named(name);
        switch (spec.type) {
        case 's':
            return formatText(value.text(), spec, '>');
        case 'r':
            return formatText(value.repr(), spec, '>');
        case 'c':
            return formatText(value.text(), spec, '>');
        default:
            break;
        }
        if (!value.isNumber()) {
            throw TemplateError(
                fmt::format("the format '%{}' does not suit {}", spec.type, value.typeName()));
        }
        // %d cuts a real number, which format() refuses
        const bool cuts = spec.type == 'd' && value.isDouble();
        return formatNumber(cuts ? Value(static_cast<std::int64_t>(value.asDouble())) : value,
                            spec);
    }

    void finish() const {
        if (m_values.isTuple() && m_next < m_values.asList().size()) {
            throw TemplateError("a format takes fewer values than are given");
        }
    }

private:
    static std::string readName(SpecReader& reader) {
        std::string name;
        if (reader.skip('(')) {
            while (!reader.atEnd() && reader.peek() != ')') {
                name += reader.take();
            }
            reader.take();
        }
        return name;
    }

    static Spec readSpec(SpecReader& reader) {
        Spec spec;
        for (bool flags = true; flags;) {
            if (reader.skip('-')) {
                spec.align = '<';
            } else if (reader.skip('0')) {
                spec.fill.assign(1, spec.align == '<' ? ' ' : '0');
                spec.align = spec.align == '<' ? '<' : '=';
            } else if (reader.peek() == '+' || reader.peek() == ' ') {
                spec.sign = reader.take();
            } else if (reader.skip('#')) {
                spec.alternate = true;
            } else {
                flags = false;
            }
        }
        spec.width = reader.number(0);
        if (reader.skip('.')) {
            spec.precision = reader.number(0);
        }
        spec.type = reader.take();
        spec.type = spec.type == 'i' || spec.type == 'u' ? 'd' : spec.type;
        if (std::string_view("srcdxXofFeEgG%").find(spec.type) == std::string_view::npos ||
            spec.type == '\0') {
            throw TemplateError(fmt::format("the format '%{}' is not supported", spec.type));
        }
        return spec;
    }

    Value next() {
        const bool several = m_values.isTuple();
        const std::size_t count = several ? m_values.asList().size() : 1;
        if (m_next >= count) {
            throw TemplateError("a format needs more values than are given");
        }
        ++m_next;
        return several ? m_values.asList()[m_next - 1] : m_values;
    }

    Value named(const std::string& name) const {
        const Value* found = m_values.isMap() ? m_values.findKey(Value(name)) : nullptr;
        if (found == nullptr) {
            throw TemplateError(fmt::format("a format asks for '{}', which is not given", name));
        }
        return *found;
    }

    const Value& m_values;
    std::size_t m_next = 0;
};

/// The argument a `{field}` names; `counted` numbers the empty ones.
const Value& braceField(const std::string& field, const Arguments& arguments,
                        std::size_t& counted) {
    if (field.find_first_of(".[!") != std::string::npos) {
        throw TemplateError(fmt::format("the format field '{}' is not supported", field));
    }
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), index);
    const bool numbered = error == std::errc() && end == field.data() + field.size();
    if (field.empty()) {
        index = counted++;
    }
    if ((field.empty() || numbered) && index < arguments.positional.size()) {
        return arguments.positional[index];
    }
    for (const auto& [name, value] : arguments.named) {
        if (name == field && !field.empty()) {
            return value;
        }
    }
    throw TemplateError(fmt::format("a format asks for '{}', which is not given", field));
}

} // namespace

std::string formatPercent(const std::string& format, const Value& values) {
    PercentFields fields(values);
    std::string text;
    for (std::size_t i = 0; i < format.size();) {
        if (format[i] != '%') {
            text += format[i++];
            continue;
        }
        SpecReader reader(std::string_view(format).substr(i + 1));
        text += fields.format(reader);
        i += 1 + reader.offset();
    }
    fields.finish();
    return text;
}

std::string formatBraces(const std::string& format, const Arguments& arguments) {
    std::string text;
    std::size_t counted = 0;
    for (std::size_t i = 0; i < format.size(); ++i) {
        const char c = format[i];
        if (c != '{' && c != '}') {
            text += c;
        } else if (i + 1 < format.size() && format[i + 1] == c) {
            text += c;
            ++i;
        } else {
            const std::size_t end = c == '{' ? format.find('}', i) : std::string::npos;
            if (end == std::string::npos) {
                throw TemplateError("a format has a brace without its partner");
            }
            const std::string inside = format.substr(i + 1, end - i - 1);
            const std::size_t colon = std::min(inside.find(':'), inside.size());
            const Value& value = braceField(inside.substr(0, colon), arguments, counted);
            text += formatBraceValue(value, colon < inside.size() ? inside.substr(colon + 1) : "");
            i = end;
        }
    }
    return text;
}

} // namespace ecokv::jinja
