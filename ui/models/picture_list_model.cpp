// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/picture_list_model.h"

#include <QFileInfo>
#include <QIcon>
#include <QPixmap>

namespace ecokv::ui {

QStringList PictureListModel::paths() const {
    QStringList paths;
    for (const Entry& entry : m_entries) {
        paths << entry.path;
    }
    return paths;
}

void PictureListModel::setPaths(const QStringList& paths) {
    beginResetModel();
    m_entries.clear();
    for (const QString& path : paths) {
        m_entries.push_back({path, {}, {}, false});
    }
    endResetModel();
    for (const QString& path : paths) {
        Q_EMIT thumbnailWanted(path);
    }
    Q_EMIT changed();
}

void PictureListModel::append(const QString& path) {
    beginInsertRows({}, rowCount(), rowCount());
    m_entries.push_back({path, {}, {}, false});
    endInsertRows();
    Q_EMIT thumbnailWanted(path);
    Q_EMIT changed();
}

void PictureListModel::remove(int row) {
    if (row < 0 || row >= rowCount()) {
        return;
    }
    beginRemoveRows({}, row, row);
    m_entries.erase(m_entries.begin() + row);
    endRemoveRows();
    Q_EMIT changed();
}

void PictureListModel::setThumbnail(const QString& path, const QImage& thumbnail,
                                    const QSize& size) {
    for (int row = 0; row < rowCount(); ++row) {
        Entry& entry = m_entries[static_cast<std::size_t>(row)];
        if (entry.path == path) {
            entry.thumbnail = thumbnail;
            entry.size = size;
            entry.loaded = true;
            Q_EMIT dataChanged(index(row), index(row));
        }
    }
}

int PictureListModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_entries.size());
}

QString PictureListModel::toolTip(const Entry& entry) const {
    if (!entry.loaded) {
        return entry.path;
    }
    if (entry.thumbnail.isNull()) {
        return tr("%1\nThis picture cannot be shown here.").arg(entry.path);
    }
    return tr("%1\n%2 × %3 pixels")
        .arg(entry.path)
        .arg(entry.size.width())
        .arg(entry.size.height());
}

QVariant PictureListModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return {};
    }
    const Entry& entry = m_entries[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole:
    case Qt::AccessibleTextRole:
        return QFileInfo(entry.path).fileName();
    case Qt::DecorationRole:
        return entry.thumbnail.isNull() ? QVariant()
                                        : QVariant(QIcon(QPixmap::fromImage(entry.thumbnail)));
    case Qt::ToolTipRole:
        return toolTip(entry);
    case Qt::UserRole:
        return entry.path;
    default:
        return {};
    }
}

} // namespace ecokv::ui
