// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/formatting.h"

#include <QCoreApplication>
#include <QStringDecoder>

#include <array>
#include <cmath>

namespace ecokv::ui {

namespace {

QString translated(const char* text) {
    return QCoreApplication::translate("Formatting", text);
}

const QString kDash = QStringLiteral("–");

QString escapedBytes(const std::string& bytes) {
    QString out;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f) {
            out += QLatin1Char(c);
        } else {
            out += QStringLiteral("\\x%1").arg(byte, 2, 16, QLatin1Char('0'));
        }
    }
    return out;
}

} // namespace

QString formatNumber(double value) {
    if (std::isnan(value)) {
        return kDash;
    }
    return QString::number(value, 'g', 4);
}

QString formatBytes(std::uint64_t bytes) {
    static constexpr std::array<const char*, 4> kUnits = {"KB", "MB", "GB", "TB"};
    if (bytes < 1000) {
        return QStringLiteral("%1 B").arg(bytes);
    }
    double value = static_cast<double>(bytes) / 1000.0;
    std::size_t unit = 0;
    while (value >= 1000.0 && unit + 1 < kUnits.size()) {
        value /= 1000.0;
        ++unit;
    }
    return QStringLiteral("%1 %2").arg(QString::number(value, 'f', 1), QLatin1String(kUnits[unit]));
}

QString formatShare(double share) {
    if (std::isnan(share)) {
        return kDash;
    }
    const double percent = 100.0 * share;
    const int decimals = percent > 0.0 && percent < 10.0 ? 1 : 0;
    return QStringLiteral("%1 %").arg(QString::number(percent, 'f', decimals));
}

QString formatSeconds(double seconds) {
    if (std::isnan(seconds) || seconds < 0.0) {
        return kDash;
    }
    if (seconds < 0.0995) {
        return QStringLiteral("%1 ms").arg(QString::number(1e3 * seconds, 'g', 2));
    }
    if (seconds < 10.0) {
        return QStringLiteral("%1 s").arg(QString::number(seconds, 'f', seconds < 1.0 ? 2 : 1));
    }
    const auto whole = static_cast<qint64>(std::llround(seconds));
    if (whole < 60) {
        return QStringLiteral("%1 s").arg(whole);
    }
    return QStringLiteral("%1 min %2 s").arg(whole / 60).arg(whole % 60, 2, 10, QLatin1Char('0'));
}

QString formatCount(std::int64_t count) {
    static constexpr std::array<const char*, 3> kUnits = {"k", "M", "G"};
    if (count < 10000) {
        return QString::number(count);
    }
    double value = static_cast<double>(count) / 1000.0;
    std::size_t unit = 0;
    while (value >= 1000.0 && unit + 1 < kUnits.size()) {
        value /= 1000.0;
        ++unit;
    }
    return QStringLiteral("%1 %2").arg(QString::number(value, 'f', value < 100.0 ? 1 : 0),
                                       QLatin1String(kUnits[unit]));
}

QString formatToken(const std::string& bytes) {
    QStringDecoder decoder(QStringDecoder::Utf8, QStringDecoder::Flag::Stateless);
    QString text = decoder(QByteArrayView(bytes.data(), static_cast<qsizetype>(bytes.size())));
    if (decoder.hasError()) {
        return escapedBytes(bytes);
    }
    text.replace(u'\n', QChar(0x21B5)); // downwards arrow with corner
    text.replace(u'\t', QChar(0x21E5)); // tab arrow
    text.replace(u' ', QChar(0x2423));  // open box
    return text;
}

QString tokenKindName(std::uint8_t kind) {
    switch (kind) {
    case 0:
        return translated("text");
    case 1:
        return translated("special");
    case 2:
        return translated("image");
    default:
        return translated("unknown");
    }
}

QString tokenKindName(std::uint8_t kind, std::uint8_t patchRole) {
    constexpr std::uint8_t kImage = 2;
    if (kind == kImage) {
        switch (patchRole) { // as PromptRecord numbers them
        case 1:
            return translated("image, row end");
        case 2:
            return translated("image, separator");
        case 3:
            return translated("image, thumbnail");
        default:
            break;
        }
    }
    return tokenKindName(kind);
}

} // namespace ecokv::ui
