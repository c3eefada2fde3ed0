// SPDX-License-Identifier: GPL-3.0-or-later
// The menu beside the pictures that says how they are read (field cases F058, F062).
#include "ui/pages/picture_reading_button.h"
#include "ui/pages/run_panel.h"

#include "ui/models/picture_list_model.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QDialog>
#include <QIcon>
#include <QMenu>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>

namespace ecokv::ui {

namespace {

void chooseIn(const QMenu& menu, const QString& text) {
    for (QAction* action : menu.actions()) {
        if (action->text() == text) {
            action->trigger();
            return;
        }
    }
    ADD_FAILURE() << text.toStdString();
}

} // namespace

TEST(PictureReading, theMenuOfReadingSaysHowPicturesAreRead) { // F058 F062
    RunPanel panel;
    const auto* button = panel.findChild<PictureReadingButton*>();
    ASSERT_NE(button, nullptr);
    EXPECT_EQ(panel.config().pictureReading, PictureReading{});
    const QSignalSpy changes(&panel, &RunPanel::changed);
    const auto choose = [&](const QString& text) { chooseIn(*button->menu(), text); };
    choose(u"Turn by the EXIF tag"_qs);
    EXPECT_FALSE(panel.config().pictureReading.applyOrientation);
    choose(u"Blend on white"_qs);
    EXPECT_EQ(panel.config().pictureReading.blendAlpha, (RgbColour{255, 255, 255}));
    choose(u"Blend on black"_qs);
    EXPECT_EQ(panel.config().pictureReading.blendAlpha, RgbColour{});
    choose(u"Drop alpha"_qs);
    EXPECT_FALSE(panel.config().pictureReading.blendAlpha.has_value());
    EXPECT_EQ(changes.size(), 4);
}

TEST(PictureReading, aColourThatIsNotChosenChangesNothing) {
    PictureReadingButton button;
    chooseIn(*button.menu(), u"Blend on white"_qs);
    const QSignalSpy changes(&button, &PictureReadingButton::changed);
    const PictureReading before = button.reading();
    bool asked = false;
    QTimer::singleShot(0, &button, [&asked] {
        if (auto* dialog = qobject_cast<QDialog*>(QApplication::activeModalWidget())) {
            asked = true;
            dialog->reject();
        }
    });
    chooseIn(*button.menu(), u"Blend on #808080…"_qs);
    EXPECT_TRUE(asked);
    EXPECT_EQ(button.reading(), before);
    EXPECT_TRUE(changes.isEmpty());
}

TEST(PictureReading, thumbnailsShowWhatTheModelGets) { // F062: red below transparent pixels
    const QTemporaryDir folder;
    const QString file = folder.filePath(u"hidden.png"_qs);
    QImage picture(8, 8, QImage::Format_ARGB32);
    picture.fill(QColor(255, 0, 0, 0));
    ASSERT_TRUE(picture.save(file));
    RunPanel panel;
    panel.addPicture(file);
    const auto colour = [&] {
        const auto* model = panel.findChild<PictureListModel*>();
        const auto icon = model->index(0).data(Qt::DecorationRole).value<QIcon>();
        return icon.isNull() ? QColor() : icon.pixmap(8, 8).toImage().pixelColor(4, 4);
    };
    EXPECT_TRUE(QTest::qWaitFor([&] { return colour() == QColor(255, 0, 0); }));
    chooseIn(*panel.findChild<PictureReadingButton*>()->menu(), u"Blend on white"_qs);
    EXPECT_TRUE(QTest::qWaitFor([&] { return colour() == QColor(255, 255, 255); }));
}

} // namespace ecokv::ui
