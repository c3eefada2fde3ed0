#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What the whole window looks at: the open trace and the selected policy, layer, head and token.
// Pages read it and follow its signals; no page talks to another. GUI thread only.

#include "analysis/trace_document.h"

#include <QObject>
#include <QString>

#include <memory>

namespace ecokv::ui {

using DocumentPtr = std::shared_ptr<const analysis::TraceDocument>;

/// What one figure of one head depends on.
struct HeadSelection {
    QString policyId;
    int layer = 0;
    int kvHead = 0;

    bool operator==(const HeadSelection&) const = default;
};

class AppState : public QObject {
    Q_OBJECT

public:
    explicit AppState(QObject* parent = nullptr) : QObject(parent) {}

    const DocumentPtr& document() const { return m_document; }
    /// Keeps the selected layer and head where they exist in the new trace.
    void setDocument(const DocumentPtr& document);

    const HeadSelection& selection() const { return m_selection; }
    /// The selected policy, null without a trace or policies.
    const analysis::PolicyView* policy() const;
    void selectPolicy(const QString& id);
    void selectHead(int layer, int kvHead); ///< clamped to the trace
    void stepLayer(int by);
    void stepHead(int by);

    qint64 hoveredToken() const { return m_hoveredToken; }   ///< -1 = none
    qint64 selectedToken() const { return m_selectedToken; } ///< -1 = none
    /// The token to describe: under the cursor, else the selected one.
    qint64 currentToken() const;
    void hoverToken(qint64 token);
    void selectToken(qint64 token);

Q_SIGNALS:
    void documentChanged();
    void policyChanged();
    void headChanged(int layer, int kvHead);
    void tokenHovered(qint64 token);
    void tokenSelected(qint64 token);

private:
    bool isToken(qint64 token) const;

    DocumentPtr m_document;
    HeadSelection m_selection;
    qint64 m_hoveredToken = -1;
    qint64 m_selectedToken = -1;
};

} // namespace ecokv::ui
