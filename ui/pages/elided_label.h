#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// One line of text that never asks for width: too long, it ends in an ellipsis and its tool tip
// says the whole.

#include <QLabel>

namespace ecokv::ui {

class ElidedLabel : public QLabel {
    Q_OBJECT

public:
    explicit ElidedLabel(const QString& text = {}, QWidget* parent = nullptr);

    void setFullText(const QString& text);
    const QString& fullText() const { return m_text; }

    QSize minimumSizeHint() const override;

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void elide();

    QString m_text;
};

} // namespace ecokv::ui
