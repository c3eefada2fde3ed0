# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs `ecokv run --compare` on questions; every document costs one prefill.

Answers of the program are kept beside the pictures, so that a run that was cut off goes on.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from results.questions import Model, Question, is_right
from results.statistics import Values

Row = dict[str, Any]


@dataclass(frozen=True)
class Policy:
    """A policy of the grid: its text, and the name it has in the tables."""

    text: str
    name: str

    @property
    def allocator(self) -> str:
        """As named in the text."""
        return dict(
            option.split("=") for option in self.text.partition(":")[2].split(",") if option
        ).get("allocator", "uniform")


@dataclass
class Program:
    """The built program and where its answers are kept."""

    binary: Path
    store: Path
    jobs: int

    def compare(
        self, model: Model, question: Question, policies: Iterable[Policy], budgets: Iterable[int]
    ) -> list[Row]:
        """The rows of one comparison, asked once."""
        command = [
            *(str(self.binary), "run", "--json", "--threads", "1", "--dtype", "f32"),
            *("--model", str(model.folder)),
            *(("--image", str(question.picture)) if question.picture else ("--plain-prompt",)),
            *("--prompt", question.text, "--max-new-tokens", str(model.max_new_tokens)),
            *("--budgets", ",".join(map(str, budgets))),
        ]
        for policy in policies:
            command += ["--compare", policy.text]
        digest = hashlib.sha256("\n".join(command[1:]).encode()).hexdigest()[:16]
        file = self.store / f"{question.name}-{digest}.json"
        if not file.exists():
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
            file.write_text(json.dumps(json.loads(done.stdout)["comparison"]), encoding="utf-8")
        rows: list[Row] = json.loads(file.read_text("utf-8"))
        return rows


@dataclass
class Measured:
    """What a grid gave: [document, budget] by policy; NaN where a budget was refused."""

    policies: list[Policy]
    budgets: list[int]
    right: dict[str, Values] = field(default_factory=dict)  # by name; 0 or 1
    kl: dict[str, Values] = field(default_factory=dict)
    predicted: dict[str, Values] = field(default_factory=dict)
    error: dict[str, Values] = field(default_factory=dict)
    full_right: Values = field(default_factory=lambda: np.zeros(0))

    @property
    def documents(self) -> int:
        """How many were asked."""
        return len(self.full_right)


def canonical(policy: Policy) -> tuple[str, frozenset[str], str]:
    """Scorer, options and allocator of a policy, whatever the order of its options."""
    scorer, _, options = policy.text.partition(":")
    rest = (o for o in options.split(",") if o and not o.startswith("allocator="))
    return scorer, frozenset(rest), policy.allocator


def key_of(row: Row) -> tuple[str, frozenset[str], str]:
    """The same of a row of the program."""
    return canonical(Policy(f"{row['policy']}", ""))[:2] + (row["allocator"],)


def measure(
    program: Program,
    model: Model,
    asked: list[Question],
    policies: list[Policy],
    budgets: list[int],
) -> Measured:
    """Asks every question of every policy at every budget."""
    program.store.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(program.jobs) as pool:
        answers = list(
            pool.map(lambda question: program.compare(model, question, policies, budgets), asked)
        )
    result = Measured(policies, budgets)
    shape = (len(asked), len(budgets))
    for table in (result.right, result.kl, result.predicted, result.error):
        table.update({policy.name: np.full(shape, np.nan) for policy in policies})
    result.full_right = np.array(
        [
            float(is_right(rows[0]["answer"], question.value))
            for rows, question in zip(answers, asked, strict=True)
        ]
    )
    names = {canonical(policy): policy.name for policy in policies}
    for document, (rows, question) in enumerate(zip(answers, asked, strict=True)):
        for row in rows:
            name = names.get(key_of(row))
            if name is None or row["refused"] is not None or row["budget"] not in budgets:
                continue
            at = document, budgets.index(row["budget"])
            result.right[name][at] = is_right(row["answer"], question.value)
            for table, value in (
                (result.kl, row["mean_kl"]),
                (result.predicted, row["predicted_output_error"]),
                (result.error, row["measured_output_error"]),
            ):
                table[name][at] = np.nan if value is None else value
    return result
