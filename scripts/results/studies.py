# SPDX-License-Identifier: GPL-3.0-or-later
"""What is measured: models, budgets, policies, and how a better default is looked for.

A setting is chosen on the set "choose" and every claim is made on the set "confirm".
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from demo_135m import building

from results.measure import Measured, Policy
from results.questions import Model
from results.statistics import over_budgets, paired

BUDGETS = {"135m": [24, 32, 48, 64, 96, 128], "demo": [8, 12, 16, 24, 32, 48]}
TIGHT = {"135m": [24, 32, 48], "demo": [8, 12, 16, 24]}  # where policies differ
DEFAULT = "ecokv"


def models(root: Path) -> list[Model]:
    """The two models; the 135M one is where `./run --demo 135m` puts it."""
    demo = root / "resources" / "demo-model"
    large = building.default_folder(building.DEMOS["135m"])
    return [
        Model("135m", "135M demo (SmolLM2-135M-Instruct)", large, (5,), "{key}", 4, 1),
        Model("demo", "Demo model (1.9 M parameters)", demo, (6, 7, 8, 9), "{key}?", 4, 4),
    ]


def with_options(options: str, scorer: str = DEFAULT) -> Policy:
    """A policy that is named as it is typed."""
    text = f"{scorer}:{options}" if options else scorer
    return Policy(text, text)


# Window/recent as in the published experiments; the bare names are our defaults.
MAIN = [
    with_options(""),
    with_options("geometry=pre"),
    with_options("window=8,recent=8"),
    with_options("window=16,recent=8"),
    with_options("window=8,recent=8,geometry=pre"),
    with_options("window=8,recent=8", "snapkv"),
    with_options("window=32,recent=32", "snapkv"),
    with_options("window=8,recent=8", "mixkv"),
    with_options("window=32,recent=32", "mixkv"),
    with_options("", "keydiff"),
    with_options("", "manifoldkv"),
    with_options("", "tova"),
    with_options("", "h2o"),
    with_options("", "streaming"),
    with_options("", "random"),
]

# One change of the default at a time.
FACTORS = {
    "window": ["window=4", "window=16", "window=32"],
    "recent": ["recent=0", "recent=4"],
    "sink": ["sink=4"],
    "alpha": ["alpha=0", "alpha=1"],
    "beta": ["beta=0", "beta=1"],
    "vnorm": ["vnorm=on"],
    "geometry": ["geometry=pre"],
    "pool": ["pool=1", "pool=9", "pool=13"],
    "pool_mode": ["pool_mode=max"],
}
ALLOCATORS = ["allocator=adaptive", "allocator=pyramid"]
# The score without its parts: importance alone is snapkv with the window and recent of ecokv.
ABLATIONS = [with_options("window=8", "snapkv")]

# Window and protection alike for all scorers, so that only the score differs; and the simplest
# changes of the default, confirmed on their own.
SIMPLE = "ecokv:window=4,recent=0"
MATCHED = [
    with_options(""),
    with_options("recent=0"),
    with_options("window=4"),
    with_options("window=4,recent=0"),
    with_options("window=8,recent=0", "snapkv"),
    with_options("window=4,recent=0", "snapkv"),
    with_options("window=4,recent=0", "mixkv"),
]

ALLOCATED = [
    with_options(options, scorer)
    for scorer, plain in (("ecokv", ""), ("snapkv", "window=8,recent=8,"))
    for options in (
        f"{plain}".rstrip(","),
        f"{plain}allocator=adaptive",
        f"{plain}allocator=pyramid",
    )
]


def single_changes() -> list[Policy]:
    """The default and every single change of it."""
    changed = [with_options(option) for options in FACTORS.values() for option in options]
    return [with_options(""), *changed, *ABLATIONS]


@dataclass(frozen=True)
class Change:
    """A single change of the default and by how much it lowers the mean KL, in nats."""

    factor: str
    option: str
    gain: float


def promising(measured: Measured, least: float = 1.0) -> list[Change]:
    """The best option of each factor, largest gain first; `least` standard errors or more."""
    default = over_budgets(measured.kl[DEFAULT])
    found = []
    for factor, options in FACTORS.items():
        changes = []
        for option in options:
            name = with_options(option).name
            difference = paired(over_budgets(measured.kl[name]), default)
            if -difference.mean >= least * difference.error > 0:
                changes.append(Change(factor, option, -difference.mean))
        if changes:
            found.append(max(changes, key=lambda change: change.gain))
    return sorted(found, key=lambda change: -change.gain)


def agreed(all_measured: list[Measured], candidates: list[str]) -> list[str]:
    """Options that lower the KL on every model, on one of them by two standard errors."""
    options = []
    for option in candidates:
        differences = [
            paired(
                over_budgets(measured.kl[with_options(option).name]),
                over_budgets(measured.kl[DEFAULT]),
            )
            for measured in all_measured
        ]
        if all(d.mean < 0 for d in differences) and any(d.is_clear for d in differences):
            options.append(option)
    return options


def joint(settings: list[str], allocators: list[str]) -> list[Policy]:
    """What the models agree on of the score, of the allocator, each and both."""
    text = ",".join(settings)
    texts = ["", text, *allocators, *(f"{text},{allocator}" for allocator in allocators if text)]
    return [with_options(text) for text in dict.fromkeys(texts)]


def combinations(changes: list[Change], most: int = 5) -> list[Policy]:
    """The largest changes together, each left out in turn, the two largest and the largest."""
    changes = changes[:most]
    sets = [changes, changes[:2], changes[:1]] + [[c for c in changes if c is not left] for left in changes]
    texts = dict.fromkeys(",".join(c.option for c in chosen) for chosen in sets if chosen)
    return [with_options(text) for text in texts]


def best_of(measured: Measured, names: list[str]) -> str:
    """The lowest mean KL over documents and budgets."""
    return min(names, key=lambda name: float(np.nanmean(over_budgets(measured.kl[name]))))
