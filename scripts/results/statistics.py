# SPDX-License-Identifier: GPL-3.0-or-later
"""Means with standard errors over documents, and paired differences between policies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]


class Estimate(NamedTuple):
    """A mean over documents and its standard error; NaN where there are too few."""

    mean: float
    error: float

    @property
    def is_clear(self) -> bool:
        """Two standard errors or more from zero."""
        return bool(abs(self.mean) > 2 * self.error)


def estimate(values: Values) -> Estimate:
    """Mean and s / sqrt(n) over one value per document; documents without a value are left out."""
    known = values[~np.isnan(values)]
    if len(known) == 0:
        return Estimate(float("nan"), float("nan"))
    error = known.std(ddof=1) / np.sqrt(len(known)) if len(known) > 1 else float("nan")
    return Estimate(float(known.mean()), float(error))


def paired(ours: Values, theirs: Values) -> Estimate:
    """Mean difference ours - theirs over the same documents."""
    return estimate(ours - theirs)


def over_budgets(values: Values) -> Values:
    """[document, budget] -> one mean per document, over the budgets it has values for."""
    known = ~np.isnan(values)
    counts = known.sum(1)
    sums = np.where(known, values, 0.0).sum(1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
