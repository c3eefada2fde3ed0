// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/demo_catalogue.h"

#include "base/error.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

namespace ecokv::ui {

namespace {

const char* const kModelFolder = "/demo-model";
const char* const kDocuments = "/demo-documents/documents.json";

DemoDocument readDocument(const QJsonObject& json, const QDir& folder) {
    DemoDocument document;
    document.picture = folder.absoluteFilePath(json.value(QLatin1String("file")).toString());
    document.note = json.value(QLatin1String("note")).toString();
    const QJsonArray questions = json.value(QLatin1String("questions")).toArray();
    for (const QJsonValue& value : questions) {
        const QJsonObject question = value.toObject();
        document.questions.push_back({question.value(QLatin1String("question")).toString(),
                                      question.value(QLatin1String("answer")).toString()});
    }
    return document;
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

DemoCatalogue loadDemoCatalogue(const QString& resources) {
    DemoCatalogue catalogue;
    if (resources.isEmpty()) {
        return catalogue;
    }
    catalogue.model = resources + QLatin1String(kModelFolder);
    const QString path = resources + QLatin1String(kDocuments);
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
    const QJsonArray documents = json.object().value(QLatin1String("documents")).toArray();
    for (const QJsonValue& value : documents) {
        catalogue.documents.push_back(readDocument(value.toObject(), folder));
    }
    return catalogue;
}

} // namespace ecokv::ui
