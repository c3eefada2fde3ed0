# SPDX-License-Identifier: GPL-3.0-or-later
"""The same look-up without eyes: tables of codes as text, read by SmolLM2-135M-Instruct.

Policies and settings are those that the documents suggested; nothing is chosen here.
"""

from __future__ import annotations

import string

import numpy as np
from demo_135m import building

from results import tables
from results.measure import Measured, Policy
from results.questions import Model, Question
from results.statistics import estimate
from results.studies import DEFAULT, with_options

SEED = 7_300_000  # no other script draws with it
LINES = 30
BUDGETS = [16, 24, 32, 64]
TIGHT = [16, 24, 32]  # where policies differ
PAGES_DEFAULT = "alpha=0,pool_mode=max,allocator=adaptive"  # what suited pages on both models

POLICIES = [
    with_options(""),
    with_options(PAGES_DEFAULT),
    with_options("recent=0,window=4,pool_mode=max,alpha=0"),
    with_options("alpha=0"),
    with_options("pool_mode=max"),
    with_options("allocator=adaptive"),
    with_options("geometry=pre"),
    with_options("window=8,recent=8", "snapkv"),
    with_options("window=8,recent=8", "mixkv"),
    with_options("", "keydiff"),
    with_options("", "h2o"),
    with_options("", "streaming"),
    with_options("", "random"),
]

# With the same protection for both scores, where they differ most: 8 tokens as SnapKV's, 4 as ours.
MATCHED_BUDGETS = [16]
MATCHED = [
    with_options("window=8,recent=8"),
    with_options("window=8,recent=8", "snapkv"),
    with_options("window=8,recent=4"),
    with_options("window=8,recent=4", "snapkv"),
]


def model() -> Model:
    """Where `build.py smollm2` puts it."""
    folder = building.default_folder(building.DEMOS["smollm2"])
    return Model("text", "Text prompts (SmolLM2-135M-Instruct)", folder, (LINES,), "", 4, 1)


def question(index: int) -> Question:
    """A table of LINES codes and the begun answer about one of them."""
    rng = np.random.default_rng(SEED + index)
    keys: list[str] = []
    while len(keys) < LINES:
        key = "".join(rng.choice(list(string.ascii_uppercase), 3))
        if key not in keys:
            keys.append(key)
    values = ["".join(rng.choice(list(string.digits), 3)) for _ in keys]
    asked = index % LINES
    rows = "\n".join(f"{key}:{value}" for key, value in zip(keys, values, strict=True))
    text = f"Table of codes:\n{rows}\n\nThe code of {keys[asked]} is {keys[asked]}:"
    return Question(f"text-{index:03}", None, text, values[asked])


def questions(count: int) -> list[Question]:
    """The line that is asked about goes through the lines in turn."""
    return [question(index) for index in range(count)]


def against_snapkv(measured: Measured, options: str, budgets: list[int]) -> str:
    """Our score minus SnapKV's with the same options."""
    ours, theirs = with_options(options).name, with_options(options, "snapkv").name
    return tables.differences(measured, ours, [theirs], budgets)


def section(measured: Measured, matched: Measured, policies: list[Policy]) -> str:
    """What stands between the markers."""
    names = [policy.name for policy in policies]
    full = estimate(measured.full_right)
    others = [name for name in names if name != DEFAULT]
    return "\n\n".join(
        [
            (f"Made by `./run results`. {measured.documents} tables of {LINES} codes "
            f"(\"ABC:123\"), taken verbatim with the begun answer, some 230 tokens; the full cache "
            f"reads {tables.share(full.mean)} of them right (SE {tables.share(full.error)}). Right "
            "values / mean KL to the full cache in nats, by budget:"),
            tables.by_budget(measured, names),
            (f"Over budgets {', '.join(map(str, TIGHT))}, paired by table, ± one standard error; a "
            "difference counts from two:"),
            tables.differences(measured, DEFAULT, others, TIGHT),
            "The same window and protection for both scores, budget 16:",
            against_snapkv(matched, "window=8,recent=8", MATCHED_BUDGETS),
            against_snapkv(matched, "window=8,recent=4", MATCHED_BUDGETS),
            "Budgets 32 and 64 alone:",
            tables.differences(measured, DEFAULT, ["snapkv:window=8,recent=8"], [32]),
            tables.differences(measured, DEFAULT, ["snapkv:window=8,recent=8"], [64]),
        ]
    )
