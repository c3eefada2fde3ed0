// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/app_state.h"

#include <algorithm>

namespace ecokv::ui {

namespace {

int clampIndex(int index, std::int64_t count) {
    return count <= 0 ? 0 : std::clamp(index, 0, static_cast<int>(count) - 1);
}

} // namespace

void AppState::setDocument(const DocumentPtr& document) {
    m_document = document;
    m_hoveredToken = -1;
    m_selectedToken = -1;
    if (m_document) {
        m_selection.layer = clampIndex(m_selection.layer, m_document->dimensions.layers);
        m_selection.kvHead = clampIndex(m_selection.kvHead, m_document->dimensions.kvHeads);
        if (policy() == nullptr) {
            m_selection.policyId = QString::fromStdString(m_document->mainPolicy());
        }
    }
    Q_EMIT documentChanged();
}

const analysis::PolicyView* AppState::policy() const {
    return m_document ? m_document->policy(m_selection.policyId.toStdString()) : nullptr;
}

void AppState::selectPolicy(const QString& id) {
    if (id == m_selection.policyId) {
        return;
    }
    m_selection.policyId = id;
    Q_EMIT policyChanged();
}

void AppState::selectHead(int layer, int kvHead) {
    if (m_document) {
        layer = clampIndex(layer, m_document->dimensions.layers);
        kvHead = clampIndex(kvHead, m_document->dimensions.kvHeads);
    }
    if (layer == m_selection.layer && kvHead == m_selection.kvHead) {
        return;
    }
    m_selection.layer = layer;
    m_selection.kvHead = kvHead;
    Q_EMIT headChanged(layer, kvHead);
}

void AppState::stepLayer(int by) {
    selectHead(m_selection.layer + by, m_selection.kvHead);
}

void AppState::stepHead(int by) {
    selectHead(m_selection.layer, m_selection.kvHead + by);
}

qint64 AppState::currentToken() const {
    return m_hoveredToken >= 0 ? m_hoveredToken : m_selectedToken;
}

bool AppState::isToken(qint64 token) const {
    return m_document && token >= 0 && token < m_document->dimensions.tokens;
}

void AppState::hoverToken(qint64 token) {
    const qint64 valid = isToken(token) ? token : -1;
    if (valid != m_hoveredToken) {
        m_hoveredToken = valid;
        Q_EMIT tokenHovered(valid);
    }
}

void AppState::selectToken(qint64 token) {
    const qint64 valid = isToken(token) ? token : -1;
    if (valid != m_selectedToken) {
        m_selectedToken = valid;
        Q_EMIT tokenSelected(valid);
    }
}

} // namespace ecokv::ui
