# SPDX-License-Identifier: GPL-3.0-or-later
"""The measured numbers as Markdown tables, and the README section they stand in."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from results.measure import Measured
from results.statistics import Estimate, estimate, over_budgets, paired

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
TEXT_MARKERS = "<!-- text results: begin -->", "<!-- text results: end -->"


def markdown(header: list[str], rows: Iterable[list[str]]) -> str:
    """A table; the first column is text, the others are numbers."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def share(value: float) -> str:
    """.67"""
    return "-" if np.isnan(value) else f"{value:.2f}".replace("0.", ".", 1)


def number(value: float) -> str:
    """Three significant digits or two decimals."""
    return "-" if np.isnan(value) else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def with_error(value: Estimate) -> str:
    """+0.12 ± 0.03"""
    if np.isnan(value.mean):
        return "-"
    return f"{value.mean:+.3f} ± {value.error:.3f}"


def verdict(value: Estimate, smaller_is_better: bool) -> str:
    """What two standard errors say about a difference ours - theirs."""
    if np.isnan(value.mean) or not value.is_clear:
        return "no clear difference"
    return "better" if (value.mean < 0) == smaller_is_better else "**worse**"


def by_budget(measured: Measured, names: list[str]) -> str:
    """Right values and KL: one row per policy, one column per budget."""
    rows = []
    for name in names:
        cells = []
        for b in range(len(measured.budgets)):
            right = estimate(measured.right[name][:, b]).mean
            kl = estimate(measured.kl[name][:, b]).mean
            cells.append("-" if np.isnan(right) else f"{share(right)} / {number(kl)}")
        rows.append([f"`{name}`", *cells])
    return markdown(["policy", *map(str, measured.budgets)], rows)


def _compared(measured: Measured, ours: str, theirs: str, at: list[int]) -> list[str] | None:
    """Right values and KL of `ours` minus `theirs`, paired by document; None without any."""
    right, kl = (
        paired(over_budgets(table[ours][:, at]), over_budgets(table[theirs][:, at]))
        for table in (measured.right, measured.kl)
    )
    if np.isnan(kl.mean):
        return None
    return [
        with_error(right),
        verdict(right, smaller_is_better=False),
        with_error(kl),
        verdict(kl, smaller_is_better=True),
    ]


def differences(
    measured: Measured, ours: str, others: list[str], budgets: list[int] | None = None
) -> str:
    """`ours` minus each of the others; words are about `ours`."""
    at = [measured.budgets.index(b) for b in budgets or measured.budgets]
    rows = [
        [f"`{other}`", *cells]
        for other in others
        if (cells := _compared(measured, ours, other, at)) is not None
    ]
    return markdown([f"`{ours}` minus", "right values", "", "mean KL", ""], rows)


def against(measured: Measured, names: list[str], base: str) -> str:
    """Each of the names minus `base`; words are about the name."""
    at = list(range(len(measured.budgets)))
    rows = [
        [f"`{name}`", *cells]
        for name in names
        if (cells := _compared(measured, name, base, at)) is not None
    ]
    return markdown([f"minus `{base}`", "right values", "", "mean KL", ""], rows)


def prediction(measured: Measured, names: list[str]) -> tuple[float, float, int]:
    """How predicted output errors go with measured ones and with KL: Spearman over all cells."""
    columns = [
        np.concatenate([table[name].ravel() for name in names])
        for table in (measured.predicted, measured.error, measured.kl)
    ]
    known = ~np.isnan(np.stack(columns)).any(0)
    predicted, error, kl = (ranks(column[known]) for column in columns)
    return correlation(predicted, error), correlation(predicted, kl), int(known.sum())


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks with ties at their mean."""
    order = np.argsort(values, kind="stable")
    found = np.empty(len(values))
    found[order] = np.arange(len(values), dtype=float)
    for value in np.unique(values):
        same = values == value
        found[same] = found[same].mean()
    return found


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson."""
    return float(np.corrcoef(a, b)[0, 1])


def replace_section(readme: Path, text: str, markers: tuple[str, str] = (BEGIN, END)) -> None:
    """Puts `text` between the markers of the README."""
    begin, end = markers
    whole = readme.read_text("utf-8")
    if whole.count(begin) != 1 or whole.count(end) != 1:
        raise SystemExit(f"{readme} needs the lines {begin} and {end} once each.")
    before, rest = whole.split(begin)
    after = rest.split(end)[1]
    readme.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}", encoding="utf-8")
