#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The demo model and its documents with questions and right answers, found beside the build or the
// installation. loadDemoCatalogue reads files: call it on a worker.

#include <QString>
#include <QStringList>

#include <vector>

namespace ecokv::ui {

struct DemoQuestion {
    QString question;
    QString answer; ///< the right one
};

struct DemoDocument {
    QString picture; ///< absolute path
    QString note;    ///< "Rich page: seven lines among shapes."
    std::vector<DemoQuestion> questions;
};

struct DemoCatalogue {
    QString model; ///< folder of the demo model, "" if it was not found
    std::vector<DemoDocument> documents;
};

/// The first of `candidates` that holds demo-model/config.json, "" if none does.
QString findResources(const QStringList& candidates);
/// Beside the program, in its share folder, in the source tree; in this order.
QStringList resourceCandidates(const QString& programFolder);
/// Throws Error{BadInput} when documents.json is broken.
DemoCatalogue loadDemoCatalogue(const QString& resources);

} // namespace ecokv::ui
