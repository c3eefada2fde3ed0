// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/dataset_model.h"

#include "ui/models/formatting.h"

namespace ecokv::ui {

namespace {

QStandardItem* readOnly(const QString& text) {
    auto* item = new QStandardItem(text);
    item->setEditable(false);
    return item;
}

QString shapeText(const std::vector<std::int64_t>& shape) {
    QStringList sizes;
    for (const std::int64_t size : shape) {
        sizes << QString::number(size);
    }
    return u'[' + sizes.join(QStringLiteral(", ")) + u']';
}

} // namespace

DatasetModel::DatasetModel(QObject* parent) : QStandardItemModel(parent) {
    setHorizontalHeaderLabels(
        {tr("Name"), tr("Shape"), tr("Type"), tr("On disk"), tr("Description")});
}

void DatasetModel::setDocument(const DocumentPtr& document) {
    removeRows(0, rowCount());
    if (!document) {
        return;
    }
    for (const trace::DatasetEntry& entry : document->entries) {
        addDataset(entry);
    }
}

QStandardItem* DatasetModel::groupFor(const QStringList& parts) {
    QStandardItem* parent = invisibleRootItem();
    for (const QString& part : parts) {
        QStandardItem* next = nullptr;
        for (int row = 0; row < parent->rowCount() && next == nullptr; ++row) {
            QStandardItem* child = parent->child(row, Name);
            next = child->text() == part ? child : nullptr;
        }
        if (next == nullptr) {
            next = readOnly(part);
            parent->appendRow({next, readOnly({}), readOnly({}), readOnly({}), readOnly({})});
        }
        parent = next;
    }
    return parent;
}

void DatasetModel::addDataset(const trace::DatasetEntry& entry) {
    QStringList parts = QString::fromStdString(entry.path).split(u'/', Qt::SkipEmptyParts);
    if (parts.isEmpty()) {
        return;
    }
    const QString name = parts.takeLast();
    QString description = QString::fromStdString(entry.description);
    if (!entry.units.empty()) {
        description += tr(" (%1)").arg(QString::fromStdString(entry.units));
    }
    if (!entry.problem.empty()) {
        description = tr("Unreadable: %1").arg(QString::fromStdString(entry.problem));
    }
    QStandardItem* item = readOnly(name);
    item->setToolTip(QString::fromStdString(entry.path));
    QStandardItem* text = readOnly(description);
    text->setToolTip(description);
    groupFor(parts)->appendRow({item, readOnly(shapeText(entry.shape)),
                                readOnly(QString::fromStdString(entry.dtype)),
                                readOnly(formatBytes(entry.storedBytes)), text});
}

} // namespace ecokv::ui
