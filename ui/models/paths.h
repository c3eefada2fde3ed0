#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// File names between Qt and the core: UTF-8 both ways (field case F128), and what kind of thing a
// dropped or typed path is. Pure functions; no disk is touched.

#include <QString>

#include <filesystem>

namespace ecokv::ui {

inline std::filesystem::path toPath(const QString& text) {
    const QByteArray utf8 = text.toUtf8();
    const auto* begin = reinterpret_cast<const char8_t*>(utf8.constData());
    return std::filesystem::path(begin, begin + utf8.size());
}

inline QString fromPath(const std::filesystem::path& path) {
    const std::u8string utf8 = path.u8string();
    return QString::fromUtf8(reinterpret_cast<const char*>(utf8.data()),
                             static_cast<qsizetype>(utf8.size()));
}

enum class PathKind { Trace, Model, Picture };

/// By name alone: a picture suffix is a picture; a name with another suffix that traces use is a
/// trace; everything else is taken for a model folder.
inline PathKind guessPathKind(const QString& path) {
    const QString name = path.toLower();
    for (const char* suffix : {".png", ".jpg", ".jpeg", ".webp"}) {
        if (name.endsWith(QLatin1String(suffix))) {
            return PathKind::Picture;
        }
    }
    for (const char* suffix : {".h5", ".hdf5", ".part"}) {
        if (name.endsWith(QLatin1String(suffix))) {
            return PathKind::Trace;
        }
    }
    return PathKind::Model;
}

} // namespace ecokv::ui
