#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The demo models and their documents with questions and right answers: the small one, found beside
// the build or the installation, and the real language model, which is built on the user's machine.
// loadDemoCatalogue reads files: call it on a worker.

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

/// SmolLM2-135M-Instruct with eyes (resources/demo-135m/README.md).
struct RealDemo {
    QString folder;         ///< where the model is, or would be once built
    bool built = false;     ///< it is there; builds put it there whole or not at all
    QString python, script; ///< what builds it; "" where this installation lacks one of them
    std::vector<DemoDocument> documents;

    bool canBeBuilt() const { return !python.isEmpty() && !script.isEmpty(); }
};

struct DemoCatalogue {
    QString model; ///< folder of the demo model, "" if it was not found
    std::vector<DemoDocument> documents;
    RealDemo real;
};

/// The first of `candidates` that holds demo-model/config.json, "" if none does.
QString findResources(const QStringList& candidates);
/// Beside the program, in its share folder, in the source tree; in this order.
QStringList resourceCandidates(const QString& programFolder);
/// Where models are built: the user's data folder, as resources/demo-135m/build.py has it.
QString userDataFolder();
/// Throws Error{BadInput} when a documents.json is broken.
DemoCatalogue loadDemoCatalogue(const QString& resources,
                                const QString& dataFolder = userDataFolder());

} // namespace ecokv::ui
