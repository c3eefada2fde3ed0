#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The pictures of the prompt in order, with thumbnails that arrive later from a worker. GUI thread.

#include <QAbstractListModel>
#include <QImage>
#include <QStringList>

#include <vector>

namespace ecokv::ui {

class PictureListModel : public QAbstractListModel {
    Q_OBJECT

public:
    using QAbstractListModel::QAbstractListModel;

    QStringList paths() const;
    void setPaths(const QStringList& paths);
    void append(const QString& path);
    void remove(int row);
    /// Sets the thumbnail of every row with this path; a null image marks it unreadable.
    void setThumbnail(const QString& path, const QImage& thumbnail, const QSize& size);

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;

Q_SIGNALS:
    void thumbnailWanted(const QString& path);
    void changed(); ///< paths were added, removed or replaced

private:
    struct Entry {
        QString path;
        QImage thumbnail;
        QSize size; ///< pixels; empty = unreadable or not loaded yet
        bool loaded = false;
    };

    QString toolTip(const Entry& entry) const;

    std::vector<Entry> m_entries;
};

} // namespace ecokv::ui
