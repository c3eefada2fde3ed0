// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/app/window_settings.h"

#include "base/error.h"

namespace ecokv::ui {

namespace {

const char* const kGeometry = "window/geometry";
const char* const kLayout = "window/layout_1"; // the number changes with the set of docks
const char* const kRunConfig = "run/config";

QString recentKey(const QString& kind) {
    return QStringLiteral("recent/") + kind;
}

} // namespace

QByteArray WindowSettings::geometry() const {
    return m_settings.value(QLatin1String(kGeometry)).toByteArray();
}

QByteArray WindowSettings::layout() const {
    return m_settings.value(QLatin1String(kLayout)).toByteArray();
}

void WindowSettings::setLayout(const QByteArray& geometry, const QByteArray& layout) {
    m_settings.setValue(QLatin1String(kGeometry), geometry);
    m_settings.setValue(QLatin1String(kLayout), layout);
}

QStringList WindowSettings::recent(const QString& kind) const {
    return m_settings.value(recentKey(kind)).toStringList();
}

void WindowSettings::addRecent(const QString& kind, const QString& path) {
    QStringList paths = recent(kind);
    paths.removeAll(path);
    paths.prepend(path);
    while (paths.size() > kRecentFiles) {
        paths.removeLast();
    }
    m_settings.setValue(recentKey(kind), paths);
}

void WindowSettings::removeRecent(const QString& kind, const QString& path) {
    QStringList paths = recent(kind);
    paths.removeAll(path);
    m_settings.setValue(recentKey(kind), paths);
}

std::optional<session::RunConfig> WindowSettings::runConfig() const {
    const QString text = m_settings.value(QLatin1String(kRunConfig)).toString();
    if (text.isEmpty()) {
        return std::nullopt;
    }
    try {
        return session::runConfigFromJson(text.toStdString());
    } catch (const Error&) {
        return std::nullopt; // written by another version: start as if for the first time
    }
}

void WindowSettings::setRunConfig(const session::RunConfig& config) {
    m_settings.setValue(QLatin1String(kRunConfig), QString::fromStdString(session::toJson(config)));
}

HeadSelection WindowSettings::selection() const {
    return {m_settings.value(QStringLiteral("selection/policy")).toString(),
            m_settings.value(QStringLiteral("selection/layer"), 0).toInt(),
            m_settings.value(QStringLiteral("selection/head"), 0).toInt()};
}

void WindowSettings::setSelection(const HeadSelection& selection) {
    m_settings.setValue(QStringLiteral("selection/policy"), selection.policyId);
    m_settings.setValue(QStringLiteral("selection/layer"), selection.layer);
    m_settings.setValue(QStringLiteral("selection/head"), selection.kvHead);
}

QString WindowSettings::value(const QString& key, const QString& fallback) const {
    return m_settings.value(key, fallback).toString();
}

void WindowSettings::setValue(const QString& key, const QString& value) {
    m_settings.setValue(key, value);
}

} // namespace ecokv::ui
