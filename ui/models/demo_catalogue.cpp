// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/demo_catalogue.h"

#include "base/error.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QStandardPaths>

namespace ecokv::ui {

namespace {

const char* const kModelFolder = "/demo-model";
const char* const kDocuments = "/demo-documents/documents.json";
const char* const kRealDocuments = "/demo-135m/documents.json";
const char* const kRealScript = "/demo-135m/build.py";
const char* const kRealPython = "/../.venv/bin/python"; // of the source tree, made by ./run
const char* const kRealModel = "/demo-135m";
const char* const kRealManifest = "/ecokv-demo.json"; // the last file that a build writes

DemoDocument readDocument(const QJsonObject& json, const QDir& folder) {
    DemoDocument document;
    document.picture =
        QDir::cleanPath(folder.absoluteFilePath(json.value(QLatin1String("file")).toString()));
    document.note = json.value(QLatin1String("note")).toString();
    const QJsonArray questions = json.value(QLatin1String("questions")).toArray();
    for (const QJsonValue& value : questions) {
        const QJsonObject question = value.toObject();
        document.questions.push_back({question.value(QLatin1String("question")).toString(),
                                      question.value(QLatin1String("answer")).toString()});
    }
    return document;
}

std::vector<DemoDocument> readDocuments(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) {
        throwBadInput("The demo documents " + path.toStdString() + " cannot be read.",
                      "Reinstall EcoKV Lens or open your own pictures.");
    }
    QJsonParseError error;
    const QJsonDocument json = QJsonDocument::fromJson(file.readAll(), &error);
    if (error.error != QJsonParseError::NoError) {
        throwBadInput("The list of demo documents " + path.toStdString() + " is broken at byte " +
                          std::to_string(error.offset) + ": " + error.errorString().toStdString() +
                          ".",
                      "Reinstall EcoKV Lens or open your own pictures.");
    }
    const QDir folder = QFileInfo(path).absoluteDir();
    const QJsonArray list = json.object().value(QLatin1String("documents")).toArray();
    std::vector<DemoDocument> documents;
    for (const QJsonValue& value : list) {
        documents.push_back(readDocument(value.toObject(), folder));
    }
    return documents;
}

QString existing(const QString& path) {
    return QFileInfo::exists(path) ? QDir::cleanPath(path) : QString();
}

RealDemo findRealDemo(const QString& resources, const QString& dataFolder) {
    RealDemo demo;
    demo.folder = dataFolder + QLatin1String(kRealModel);
    demo.built = QFileInfo::exists(demo.folder + QLatin1String(kRealManifest));
    demo.python = existing(resources + QLatin1String(kRealPython));
    demo.script = existing(resources + QLatin1String(kRealScript));
    const QString documents = resources + QLatin1String(kRealDocuments);
    if (QFileInfo::exists(documents)) {
        demo.documents = readDocuments(documents);
    }
    return demo;
}

} // namespace

QString findResources(const QStringList& candidates) {
    for (const QString& candidate : candidates) {
        if (QFileInfo::exists(candidate + QLatin1String(kModelFolder) +
                              QLatin1String("/config.json"))) {
            return QDir::cleanPath(candidate);
        }
    }
    return {};
}

QStringList resourceCandidates(const QString& programFolder) {
    return {programFolder + QStringLiteral("/resources"),
            programFolder + QStringLiteral("/../share/ecokv-lens"),
            QStringLiteral(ECOKV_RESOURCES_DIR)};
}

QString userDataFolder() {
    return QStandardPaths::writableLocation(QStandardPaths::GenericDataLocation) +
           QStringLiteral("/ecokv-lens");
}

DemoCatalogue loadDemoCatalogue(const QString& resources, const QString& dataFolder) {
    DemoCatalogue catalogue;
    if (resources.isEmpty()) {
        return catalogue;
    }
    catalogue.model = resources + QLatin1String(kModelFolder);
    catalogue.documents = readDocuments(resources + QLatin1String(kDocuments));
    catalogue.real = findRealDemo(resources, dataFolder);
    return catalogue;
}

} // namespace ecokv::ui
