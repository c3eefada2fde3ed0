# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of the README's section: every number in it was measured by this run."""

from __future__ import annotations

from dataclasses import dataclass

from results import studies, tables
from results.measure import Measured
from results.questions import Model
from results.statistics import estimate, over_budgets, paired

# ecokv.md: another experiment with the same model, 24 documents; names as in studies.MAIN.
EARLIER = {
    "snapkv:window=32,recent=32": "- - .25 .62 .67 .71",
    "snapkv:window=8,recent=8": ".29 .67 .67 .67 .71 .71",
    "mixkv:window=32,recent=32": "- - .12 .29 .75 .75",
    "mixkv:window=8,recent=8": ".12 .33 .54 .71 .75 .75",
    "ecokv:window=16,recent=8": ".08 .46 .67 .67 .75 .75",
    "ecokv:window=8,recent=8": ".29 .67 .67 .67 .75 .75",
    "ecokv:window=8,recent=8,geometry=pre": ".33 .67 .71 .67 .75 .75",
    "keydiff": "0 0 .08 .42 .71 .75",
    "random": "0 0 0 0 .04 .12",
    "streaming": "0 0 0 .08 .17 .25",
}


@dataclass
class Chosen:
    """How a model's default was looked for."""

    single: Measured  # set "choose"
    combined: Measured  # set "choose"
    allocated: Measured  # set "choose"
    name: str  # the policy that won


@dataclass
class Study:
    """Everything measured on one model."""

    model: Model
    chosen: Chosen
    main: Measured  # set "confirm"
    allocated: Measured  # set "confirm"
    matched: Measured  # set "confirm"
    joint: Measured  # set "confirm"


def full_line(measured: Measured) -> str:
    """How often the full cache is right."""
    full = estimate(measured.full_right)
    return (
        f"{measured.documents} documents; the full cache reads {tables.share(full.mean)} of them "
        f"right (SE {tables.share(full.error)})"
    )


def main_tables(study: Study) -> str:
    """Right values and KL of the policies on the confirming set."""
    names = [policy.name for policy in study.main.policies]
    others = [name for name in names if name != studies.DEFAULT]
    tight = studies.TIGHT[study.model.name]
    return "\n\n".join(
        [
            (f"#### {study.model.title}\n\nRight values / mean KL to the full cache in nats, by budget "
            f"({full_line(study.main)}):"),
            tables.by_budget(study.main, names),
            (f"`ecokv` against the others over budgets {', '.join(map(str, tight))}, paired by "
            "document, ± one standard error; a difference counts from two:"),
            tables.differences(study.main, studies.DEFAULT, others, tight),
        ]
    )


def choice_rows(study: Study) -> list[list[str]]:
    """Single changes of the default on the choosing set: difference of KL and right values."""
    single = study.chosen.single
    rows = []
    for policy in single.policies:
        if policy.name == studies.DEFAULT:
            continue
        differences = [
            paired(over_budgets(table[policy.name]), over_budgets(table[studies.DEFAULT]))
            for table in (single.kl, single.right)
        ]
        rows.append([f"`{policy.name}`", *(tables.with_error(d) for d in differences)])
    return rows


def choice_table(all_studies: list[Study]) -> str:
    """Single changes of the default, all models side by side."""
    header = ["change"]
    for study in all_studies:
        header += [f"KL, {study.model.name}", f"right, {study.model.name}"]
    columns = [choice_rows(study) for study in all_studies]
    rows = [
        [parts[0][0], *(cell for part in parts for cell in part[1:])]
        for parts in zip(*columns, strict=True)
    ]
    return tables.markdown(header, rows)


def confirmation(study: Study) -> str:
    """The chosen setting against the default, where it was not chosen."""
    name = study.chosen.name
    if name == studies.DEFAULT:
        return f"{study.model.title}: no change was better; the default stands."
    pair = [
        paired(over_budgets(table[name]), over_budgets(table[studies.DEFAULT]))
        for table in (study.main.kl, study.main.right)
    ]
    words = tables.verdict(pair[0], smaller_is_better=True)
    return (
        f"{study.model.title}: `{name}` had the lowest KL on the choosing set; on the confirming "
        f"set its KL is {tables.with_error(pair[0])} against the default ({words}), its right "
        f"values {tables.with_error(pair[1])} "
        f"({tables.verdict(pair[1], smaller_is_better=False)})."
    )


def matched_tables(study: Study) -> str:
    """The default against its simplest changes, and scorers with equal window and protection."""
    names = [policy.name for policy in study.matched.policies]
    changed = [name for name in names if name.startswith("ecokv:")]
    others = [name for name in names if name != studies.SIMPLE]
    return "\n\n".join(
        [
            (f"{study.model.title}, confirming set, budgets "
            f"{', '.join(map(str, study.matched.budgets))}:"),
            tables.against(study.matched, changed, studies.DEFAULT),
            tables.differences(study.matched, studies.SIMPLE, others),
        ]
    )


def joint_table(study: Study) -> str:
    """What both models agree on, against the default."""
    names = [policy.name for policy in study.joint.policies]
    others = [name for name in names if name != studies.DEFAULT]
    return tables.against(study.joint, others, studies.DEFAULT)


def allocator_table(study: Study) -> str:
    """Allocators within a scorer, paired with uniform."""
    rows = []
    for policy in study.allocated.policies:
        if policy.allocator == "uniform":
            continue
        base = policy.name.replace(f"allocator={policy.allocator}", "").rstrip(":,")
        pair = [
            paired(over_budgets(table[policy.name]), over_budgets(table[base]))
            for table in (study.allocated.right, study.allocated.kl)
        ]
        rows.append(
            [
                f"`{policy.name}`",
                tables.with_error(pair[0]),
                tables.with_error(pair[1]),
                tables.verdict(pair[1], smaller_is_better=True),
            ]
        )
    return tables.markdown(["minus `uniform`", "right values", "mean KL", ""], rows)


def earlier_table(study: Study) -> str:
    """The earlier experiment's right values beside ours."""
    rows = []
    for name, text in EARLIER.items():
        if name in study.main.right:
            ours = [
                tables.share(estimate(study.main.right[name][:, b]).mean)
                for b in range(len(study.main.budgets))
            ]
            pairs = [f"{a} / {b}" for a, b in zip(text.split(), ours, strict=True)]
            rows.append([f"`{name}`", *pairs])
    return tables.markdown(["earlier / here", *map(str, study.main.budgets)], rows)


def section(all_studies: list[Study], command: str) -> str:
    """Everything between the markers."""
    large = all_studies[0]
    names = [policy.name for policy in large.main.policies]
    to_error, to_kl, cells = tables.prediction(large.main, names)
    parts = [
        (f"Made by `{command}`. Fresh documents in two disjoint sets: settings are chosen on the "
        "first and every table but the one of single changes shows the second. The first token of "
        "an answer comes from the prefill, before anything is evicted, and counts as read by all."),
        *(main_tables(study) for study in all_studies),
        "#### What a better default would be\n\nSingle changes of `ecokv` on the choosing set "
        + "".join(
            f"({s.model.name}: {s.chosen.single.documents} documents, budgets "
            f"{', '.join(map(str, s.chosen.single.budgets))}) "
            for s in all_studies
        )
        + "minus the default (window 8, recent min(32, B/4), alpha = beta = 0.5, pool 5); less KL "
        "is better:",
        choice_table(all_studies),
        "\n".join(f"- {confirmation(study)}" for study in all_studies),
        ("One default for both: the settings and allocators that lowered the KL of both models on "
        "the choosing set (of one of them clearly), on the confirming set:"),
        *(f"{study.model.title}:\n\n{joint_table(study)}" for study in all_studies),
        "#### The same window and protection for every scorer",
        *(matched_tables(study) for study in all_studies),
        "#### Allocators (confirming set)",
        *(f"{study.model.title}:\n\n{allocator_table(study)}" for study in all_studies),
        ("#### An earlier experiment re-measured\n\nRight values on the 135M demo, 24 other "
        "documents then (SE about .09), ours on the confirming set:"),
        earlier_table(large),
        (f"Predicted against measured (135M demo, {cells} cells of document x policy x budget): "
        f"rank correlation of the predicted output error with the one measured on the answer's "
        f"queries {to_error:.2f}, with the KL {to_kl:.2f}."),
    ]
    return "\n\n".join(parts)
