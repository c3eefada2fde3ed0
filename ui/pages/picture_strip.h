#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The pictures of the prompt as thumbnails, and how they are read: dropped, pasted or opened;
// Delete removes one. Thumbnails and pasted pictures are read and written on a worker.

#include "session/run_config.h"
#include "ui/models/picture_list_model.h"
#include "ui/workers/job_runner.h"

#include <QMimeData>
#include <QWidget>

class QLabel;
class QListView;

namespace ecokv::ui {

class PictureReadingButton;

class PictureStrip : public QWidget {
    Q_OBJECT

public:
    explicit PictureStrip(QWidget* parent = nullptr);

    QStringList paths() const { return m_model->paths(); }
    void setPaths(const QStringList& paths) { m_model->setPaths(paths); }
    void read(session::RunConfig& config) const;
    void setConfig(const session::RunConfig& config);
    void openPictures();
    /// Pictures and picture files in `data`; false if there are none.
    bool take(const QMimeData& data);

Q_SIGNALS:
    void changed();
    void failed(const ecokv::ui::JobFailure& failure);

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void setUpList();
    void addAction(const QString& text, const QKeySequence& key, void (PictureStrip::*slot)());
    void paste();
    void removeCurrent();
    void saveAndAdd(const QImage& image);
    void wantThumbnail(const QString& path);
    void loadNextThumbnail();
    void updateHint();

    PictureListModel* m_model;
    QListView* m_list;
    QLabel* m_hint;
    PictureReadingButton* m_reading;
    JobRunner m_thumbnails;
    JobRunner m_saves;
    QStringList m_waiting; ///< thumbnails not asked for yet
};

} // namespace ecokv::ui
