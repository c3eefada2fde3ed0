// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/trace_page.h"

#include "ui/models/dataset_model.h"
#include "ui/models/paths.h"
#include "ui/pages/empty_state.h"

#include <QHeaderView>
#include <QLabel>
#include <QStackedWidget>
#include <QTreeView>
#include <QVBoxLayout>

namespace ecokv::ui {

TracePage::TracePage(AppState* state, QWidget* parent)
    : QWidget(parent), m_state(state), m_stack(new QStackedWidget), m_path(new QLabel),
      m_problems(new QLabel), m_model(new DatasetModel(this)), m_tree(new QTreeView) {
    auto* empty =
        new EmptyState({tr("What is in a trace?"),
                        tr("Every run writes one HDF5 file. Open a trace to see its datasets, or "
                           "run a prompt to make one."),
                        tr("Open a trace…")});
    connect(empty, &EmptyState::actionRequested, this, &TracePage::openRequested);
    m_stack->addWidget(empty);
    m_stack->addWidget(makeContent());
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->addWidget(m_stack);
    connect(state, &AppState::documentChanged, this, &TracePage::showDocument);
    showDocument();
}

QWidget* TracePage::makeContent() {
    for (QLabel* label : {m_path, m_problems}) {
        label->setWordWrap(true);
        label->setTextFormat(Qt::PlainText);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    }
    m_problems->setProperty("role", QStringLiteral("warning"));
    m_tree->setModel(m_model);
    m_tree->setAlternatingRowColors(true);
    m_tree->setUniformRowHeights(true);
    m_tree->setAccessibleName(tr("Datasets of the trace"));
    m_tree->header()->setStretchLastSection(true);
    auto* content = new QWidget;
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(m_path);
    layout->addWidget(m_problems);
    layout->addWidget(m_tree, 1);
    return content;
}

void TracePage::showDocument() {
    const DocumentPtr& document = m_state->document();
    m_model->setDocument(document);
    m_stack->setCurrentIndex(document ? 1 : 0);
    if (!document) {
        return;
    }
    m_path->setText(tr("%1\n%2").arg(fromPath(document->path),
                                     document->complete ? tr("Complete.") : tr("Incomplete.")));
    QStringList problems;
    for (const std::string& problem : document->problems) {
        problems << QString::fromStdString(problem);
    }
    m_problems->setText(problems.join(u'\n'));
    m_problems->setVisible(!problems.isEmpty());
    m_tree->expandAll();
    for (int column = 0; column < DatasetModel::Description; ++column) {
        m_tree->resizeColumnToContents(column);
    }
}

} // namespace ecokv::ui
