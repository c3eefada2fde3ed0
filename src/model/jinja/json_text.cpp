// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/jinja/json_text.h"

#include "model/jinja/template_error.h"
#include "model/text/utf8.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ecokv::jinja {

namespace {

class JsonWriter {
public:
    explicit JsonWriter(const JsonStyle& style) : m_style(style) {}

    std::string take() { return std::move(m_text); }

    void write(const Value& value) {
        if (value.isNone()) {
            m_text += "null";
        } else if (value.isBool()) {
            m_text += value.asBool() ? "true" : "false";
        } else if (value.isInteger()) {
            m_text += value.repr();
        } else if (value.isDouble()) {
            writeDouble(value.asDouble());
        } else if (value.isString()) {
            writeString(value.asString());
        } else if (value.isList()) {
            writeList(value.asList());
        } else if (value.isMap()) {
            writeMap(value.asMap());
        } else {
            throw TemplateError(fmt::format("{} cannot be written as JSON", value.typeName()));
        }
    }

private:
    void writeDouble(double value) {
        if (std::isnan(value)) {
            m_text += "NaN";
        } else if (std::isinf(value)) {
            m_text += value > 0 ? "Infinity" : "-Infinity";
        } else {
            m_text += formatDouble(value);
        }
    }

    void writeEscape(char32_t c) {
        if (c >= 0x10000) {
            m_text += fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + ((c - 0x10000) >> 10),
                                  0xdc00 + ((c - 0x10000) & 0x3ff));
        } else {
            m_text += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(c));
        }
    }

    void writeString(const std::string& text) {
        static constexpr std::string_view kPlain = "\"\\\n\r\t\b\f";
        static constexpr std::string_view kShort = "\"\\nrtbf";
        m_text += '"';
        for (std::size_t i = 0; i < text.size();) {
            const model::Utf8Char c = model::utf8At(text, i);
            const std::size_t known = kPlain.find(text[i]);
            if (known != std::string_view::npos) {
                m_text += '\\';
                m_text += kShort[known];
            } else if (c.codePoint < 0x20 || (m_style.asciiOnly && c.codePoint > 0x7e)) {
                writeEscape(c.codePoint);
            } else {
                m_text.append(text, i, c.length);
            }
            i += c.length;
        }
        m_text += '"';
    }

    void breakLine() {
        if (m_style.indent) {
            m_text += '\n';
            for (int i = 0; i < m_level; ++i) {
                m_text += *m_style.indent;
            }
        }
    }

    template <class Elements, class WriteElement>
    void writeElements(const char* brackets, const Elements& elements, WriteElement writeElement) {
        m_text += brackets[0];
        ++m_level;
        bool first = true;
        for (const auto& element : elements) {
            m_text += first ? "" : m_style.itemSeparator;
            first = false;
            breakLine();
            writeElement(element);
        }
        --m_level;
        if (!first) {
            breakLine();
        }
        m_text += brackets[1];
    }

    void writeList(const List& list) {
        writeElements("[]", list, [this](const Value& element) { write(element); });
    }

    /// Keys are strings in JSON: json.dumps writes true and null for True and None.
    static std::string keyText(const Value& key) {
        if (key.isBool()) {
            return key.asBool() ? "true" : "false";
        }
        return key.isNone() ? "null" : key.text();
    }

    void writeMap(Map map) {
        if (m_style.sortKeys) {
            std::ranges::stable_sort(
                map, [](const auto& a, const auto& b) { return a.first.text() < b.first.text(); });
        }
        writeElements("{}", map, [this](const auto& entry) {
            writeString(keyText(entry.first));
            m_text += m_style.keySeparator;
            write(entry.second);
        });
    }

    const JsonStyle& m_style;
    std::string m_text;
    int m_level = 0;
};

} // namespace

std::string toJson(const Value& value, const JsonStyle& style) {
    JsonWriter writer(style);
    writer.write(value);
    return writer.take();
}

} // namespace ecokv::jinja
