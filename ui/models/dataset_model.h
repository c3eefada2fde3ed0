#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The datasets of a trace as a tree of groups, for the Trace page. Built once per document from its
// snapshot; reads no file. GUI thread.

#include "ui/models/app_state.h"

#include <QStandardItemModel>

namespace ecokv::ui {

class DatasetModel : public QStandardItemModel {
    Q_OBJECT

public:
    enum Column { Name, Shape, Type, Stored, Description, ColumnCount };

    explicit DatasetModel(QObject* parent = nullptr);
    void setDocument(const DocumentPtr& document);

private:
    QStandardItem* groupFor(const QStringList& parts);
    void addDataset(const trace::DatasetEntry& entry);
};

} // namespace ecokv::ui
