#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What the desktop remembers between starts, written soon after each change so that a crash loses
// nothing: layout, recent files, run settings, selection, appearance. GUI thread.

#include "session/run_config.h"
#include "ui/models/app_state.h"

#include <QByteArray>
#include <QSettings>
#include <QStringList>

#include <optional>

namespace ecokv::ui {

class WindowSettings {
public:
    static constexpr int kRecentFiles = 8;

    WindowSettings() = default;
    explicit WindowSettings(const QString& iniFile) : m_settings(iniFile, QSettings::IniFormat) {}

    QByteArray geometry() const;
    QByteArray layout() const;
    void setLayout(const QByteArray& geometry, const QByteArray& layout);

    QStringList recent(const QString& kind) const; ///< kind: "traces", "models"; newest first
    void addRecent(const QString& kind, const QString& path);
    void removeRecent(const QString& kind, const QString& path);

    std::optional<session::RunConfig> runConfig() const; ///< nothing on the first start
    void setRunConfig(const session::RunConfig& config);

    HeadSelection selection() const;
    void setSelection(const HeadSelection& selection);
    QString value(const QString& key, const QString& fallback) const;
    void setValue(const QString& key, const QString& value);
    void sync() { m_settings.sync(); }

private:
    QSettings m_settings;
};

} // namespace ecokv::ui
