// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/picture_strip.h"

#include "base/error.h"
#include "ui/models/paths.h"
#include "ui/pages/picture_reading_button.h"

#include <QAction>
#include <QClipboard>
#include <QDateTime>
#include <QDir>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QImageReader>
#include <QLabel>
#include <QListView>
#include <QPainter>
#include <QPushButton>
#include <QStandardPaths>
#include <QVBoxLayout>

#include <algorithm>

namespace ecokv::ui {

namespace {

constexpr int kThumbnail = 72; // pixels
constexpr int kStripHeight = kThumbnail + 24;

struct Thumbnail {
    QImage image; ///< null: Qt cannot read it (the engine may)
    QSize size;
};

/// As the model gets it: alpha dropped, or the colour below it showing through.
QImage withoutAlpha(const QImage& image, const std::optional<RgbColour>& background) {
    if (!background) {
        return image.convertToFormat(QImage::Format_ARGB32).convertToFormat(QImage::Format_RGB32);
    }
    QImage blended(image.size(), QImage::Format_RGB32);
    blended.fill(QColor(background->red, background->green, background->blue));
    QPainter(&blended).drawImage(0, 0, image);
    return blended;
}

Thumbnail readThumbnail(const QString& path, const PictureReading& reading) {
    QImageReader reader(path);
    reader.setAutoTransform(reading.applyOrientation);
    const QSize size = reader.size();
    QImage image = reader.read();
    if (image.isNull()) {
        return {};
    }
    image = withoutAlpha(image, reading.blendAlpha);
    const QImage small =
        image.scaled(kThumbnail * 2, kThumbnail * 2, Qt::KeepAspectRatio, Qt::SmoothTransformation);
    return {small, size.isValid() ? size : image.size()};
}

QString savePasted(const QImage& image) {
    const QString folder =

        QStandardPaths::writableLocation(QStandardPaths::CacheLocation) + QStringLiteral("/pasted");
    const QString stamp = QDateTime::currentDateTimeUtc().toString(u"yyyyMMdd-HHmmss-zzz");
    const QString path = QStringLiteral("%1/pasted-%2.png").arg(folder, stamp);
    if (!QDir().mkpath(folder) || !image.save(path)) {
        throwBadInput("The pasted picture cannot be kept in " + folder.toStdString() + ".",
                      "Save it as a file yourself and open that.");
    }
    return path;
}

} // namespace

PictureStrip::PictureStrip(QWidget* parent)
    : QWidget(parent), m_model(new PictureListModel(this)), m_list(new QListView),
      m_hint(new QLabel(tr("Drop, paste or open pictures"))), m_reading(new PictureReadingButton),
      m_thumbnails(QStringLiteral("thumbnails")), m_saves(QStringLiteral("paste")) {
    setAcceptDrops(true);
    setUpList();
    auto* open = new QPushButton(tr("Add picture…"));
    open->setToolTip(tr("Add pictures to the prompt: PNG, JPEG or WebP"));
    auto* remove = new QPushButton(tr("Remove"));
    remove->setToolTip(tr("Remove the selected picture from the prompt (Delete)"));
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(6);
    buttons->addWidget(open);
    buttons->addWidget(remove);
    buttons->addStretch(1);
    buttons->addWidget(m_reading);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(6);
    layout->addWidget(m_list);
    layout->addLayout(buttons);
    connect(open, &QPushButton::clicked, this, &PictureStrip::openPictures);
    connect(remove, &QPushButton::clicked, this, &PictureStrip::removeCurrent);
    connect(m_model, &PictureListModel::thumbnailWanted, this, &PictureStrip::wantThumbnail);
    connect(m_model, &PictureListModel::changed, this, &PictureStrip::changed);
    connect(m_model, &PictureListModel::changed, this, &PictureStrip::updateHint);
    connect(m_reading, &PictureReadingButton::changed, this, [this] {
        const QStringList shown = paths();
        std::ranges::for_each(shown, [this](const QString& path) { wantThumbnail(path); });
        Q_EMIT changed();
    });
    connect(&m_saves, &JobRunner::failed, this, &PictureStrip::failed);
    updateHint();
}

void PictureStrip::setUpList() {
    m_list->setModel(m_model);
    m_list->setViewMode(QListView::IconMode);
    m_list->setFlow(QListView::LeftToRight);
    m_list->setMovement(QListView::Static);
    m_list->setWrapping(false);
    m_list->setIconSize({kThumbnail, kThumbnail});
    m_list->setFixedHeight(kStripHeight + 14);
    m_list->setSpacing(4);
    m_list->setUniformItemSizes(false);
    m_list->setTextElideMode(Qt::ElideMiddle);
    m_list->setAccessibleName(tr("Pictures of the prompt"));
    m_list->setContextMenuPolicy(Qt::ActionsContextMenu);
    addAction(tr("Paste picture"), QKeySequence::Paste, &PictureStrip::paste);
    addAction(tr("Remove picture"), QKeySequence::Delete, &PictureStrip::removeCurrent);
    m_hint->setParent(m_list->viewport());
    m_hint->setAlignment(Qt::AlignCenter);
    m_hint->setProperty("role", QStringLiteral("muted"));
    auto* over = new QVBoxLayout(m_list->viewport());
    over->addWidget(m_hint);
}

void PictureStrip::addAction(const QString& text, const QKeySequence& key,
                             void (PictureStrip::*slot)()) {
    auto* action = new QAction(text, m_list);
    action->setShortcut(key);
    action->setShortcutContext(Qt::WidgetShortcut);
    connect(action, &QAction::triggered, this, slot);
    m_list->addAction(action);
}

void PictureStrip::read(session::RunConfig& config) const {
    const QStringList pictures = paths();
    for (const QString& picture : pictures) {
        config.images.push_back(toPath(picture));
    }
    config.pictureReading = m_reading->reading();
}

void PictureStrip::setConfig(const session::RunConfig& config) {
    QStringList pictures;
    for (const auto& picture : config.images) {
        pictures << fromPath(picture);
    }
    m_reading->setReading(config.pictureReading);
    setPaths(pictures);
}

void PictureStrip::openPictures() {
    const QStringList paths = QFileDialog::getOpenFileNames(
        this, tr("Add pictures"), {}, tr("Pictures (*.png *.jpg *.jpeg *.webp);;All files (*)"));
    for (const QString& path : paths) {
        m_model->append(path);
    }
}

bool PictureStrip::take(const QMimeData& data) {
    bool took = false;
    const QList<QUrl> urls = data.urls();
    for (const QUrl& url : urls) {
        if (url.isLocalFile() && guessPathKind(url.toLocalFile()) == PathKind::Picture) {
            m_model->append(url.toLocalFile());
            took = true;
        }
    }
    if (!took && data.hasImage()) {
        saveAndAdd(qvariant_cast<QImage>(data.imageData()));
        took = true;
    }
    return took;
}

void PictureStrip::paste() {
    take(*QGuiApplication::clipboard()->mimeData());
}

void PictureStrip::removeCurrent() {
    const QModelIndex current = m_list->currentIndex();
    m_model->remove(current.isValid() ? current.row() : m_model->rowCount() - 1);
}

void PictureStrip::saveAndAdd(const QImage& image) {
    m_saves.submit(
        tr("Keeping the pasted picture"),
        [image](const CancellationToken&) { return savePasted(image); },
        [this](const QString& path) { m_model->append(path); });
}

void PictureStrip::wantThumbnail(const QString& path) {
    m_waiting << path;
    if (!m_thumbnails.isBusy()) {
        loadNextThumbnail();
    }
}

void PictureStrip::loadNextThumbnail() {
    if (m_waiting.isEmpty()) {
        return;
    }
    const QString path = m_waiting.takeFirst();
    m_thumbnails.submit(
        tr("Reading a picture"),
        [path, reading = m_reading->reading()](const CancellationToken&) {
            return readThumbnail(path, reading);
        },
        [this, path](const Thumbnail& thumbnail) {
            m_model->setThumbnail(path, thumbnail.image, thumbnail.size);
            loadNextThumbnail();
        });
}

void PictureStrip::updateHint() {
    m_hint->setVisible(m_model->rowCount() == 0);
}

void PictureStrip::dragEnterEvent(QDragEnterEvent* event) {
    const QMimeData* data = event->mimeData();
    const QList<QUrl> urls = data->urls();
    const bool pictures = std::any_of(urls.begin(), urls.end(), [](const QUrl& url) {
        return guessPathKind(url.toLocalFile()) == PathKind::Picture;
    });
    if (pictures || (urls.isEmpty() && data->hasImage())) {
        event->acceptProposedAction();
    }
}

void PictureStrip::dropEvent(QDropEvent* event) {
    if (take(*event->mimeData())) {
        event->acceptProposedAction();
    }
}

} // namespace ecokv::ui
