// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/answer_diff.h"

#include <algorithm>

namespace ecokv::ui {

qsizetype firstDifference(const QString& reference, const QString& answer, bool complete) {
    const qsizetype common = std::min(reference.size(), answer.size());
    qsizetype at = 0;
    while (at < common && reference[at] == answer[at]) {
        ++at;
    }
    if (at == common && (reference.size() == answer.size() || !complete)) {
        return -1;
    }
    const bool insidePair = at > 0 && reference[at - 1].isHighSurrogate();
    return insidePair ? at - 1 : at;
}

bool answersMatch(const QString& expected, const QString& answer) {
    return expected.trimmed().compare(answer.trimmed(), Qt::CaseInsensitive) == 0;
}

} // namespace ecokv::ui
