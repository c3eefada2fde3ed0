# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures the policies and writes the README's section "Results" (--only pages or text: one part).

    PYTHONPATH=scripts:resources/demo-135m python -m results --build build/release

or `./run results`, which also sets up and builds. The 135M demo is built on first use, as by
`./run --demo 135m`. Answers are kept in build/results/runs, so that a run that was cut off goes on;
--fresh forgets them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from demo_135m import building
from demo_135m.reporting import Reporter

from results import report, studies, tables, text
from results.measure import Measured, Policy, Program, measure
from results.questions import Model, questions

ROOT = Path(__file__).resolve().parents[2]


class Run:
    """One run of the whole: where things are and how many documents are asked."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.work = arguments.build.parent / "results"
        self.program = Program(
            arguments.build / "bin" / "ecokv", self.work / "runs", arguments.jobs
        )
        self.documents: int = arguments.documents

    def measure(
        self, model: Model, which: str, policies: list[Policy], budgets: list[int]
    ) -> Measured:
        """One grid on one set, with its time on stderr."""
        start = time.monotonic()
        count = self.documents * model.share
        asked = questions(model, which, count, self.work / "pages")
        measured = measure(self.program, model, asked, policies, budgets)
        rows = len(policies) * len(budgets)
        print(
            f"{model.name}, {which}: {len(asked)} documents x {rows} rows in "
            f"{time.monotonic() - start:.0f} s",
            file=sys.stderr,
            flush=True,
        )
        return measured

    def measure_text(self) -> str:
        """The README's section about text prompts."""
        model, count = text.model(), self.documents
        building.build(building.DEMOS["smollm2"], model.folder, Reporter())
        asked = text.questions(count)
        measured = measure(self.program, model, asked, text.POLICIES, text.BUDGETS)
        matched = measure(self.program, model, asked, text.MATCHED, text.MATCHED_BUDGETS)
        return text.section(measured, matched, text.POLICIES)

    def choose(self, model: Model) -> report.Chosen:
        """Single changes, then combinations of the promising ones."""
        budgets = studies.TIGHT[model.name]
        single = self.measure(model, "choose", studies.single_changes(), budgets)
        combined = self.measure(
            model,
            "choose",
            [studies.with_options(""), *studies.combinations(studies.promising(single))],
            budgets,
        )
        names = [policy.name for policy in combined.policies]
        allocated = self.measure(model, "choose", studies.ALLOCATED, budgets)
        return report.Chosen(single, combined, allocated, studies.best_of(combined, names))

    def study(self, model: Model, chosen: report.Chosen, joint: list[Policy]) -> report.Study:
        """Everything about one model on the confirming set."""
        policies = list(studies.MAIN)
        if chosen.name not in [policy.name for policy in policies]:
            policies.insert(1, studies.with_options(chosen.name.partition(":")[2]))
        main = self.measure(model, "confirm", policies, studies.BUDGETS[model.name])
        tight = studies.TIGHT[model.name]
        allocated = self.measure(model, "confirm", studies.ALLOCATED, tight)
        matched = self.measure(model, "confirm", studies.MATCHED, tight)
        together = self.measure(model, "confirm", joint, tight)
        return report.Study(model, chosen, main, allocated, matched, together)


def measure_pages(run: Run, readme: Path) -> None:
    """The README's section about drawn documents."""
    models = studies.models(ROOT)
    building.build(building.DEMOS["135m"], models[0].folder, Reporter())
    chosen = [run.choose(model) for model in models]
    settings = [option for group in studies.FACTORS.values() for option in group]
    joint = studies.joint(
        studies.agreed([one.single for one in chosen], settings),
        studies.agreed([one.allocated for one in chosen], studies.ALLOCATORS),
    )
    all_studies = [run.study(model, one, joint) for model, one in zip(models, chosen, strict=True)]
    tables.replace_section(readme, report.section(all_studies, "./run results"))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--documents", type=int, default=24, help="in each of the two sets (135M demo)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md")
    parser.add_argument("--fresh", action="store_true", help="measure everything anew")
    parser.add_argument("--only", choices=["pages", "text"], help="one of the two sections")
    arguments = parser.parse_args()
    run = Run(arguments)
    if arguments.fresh:
        shutil.rmtree(run.program.store, ignore_errors=True)
    if arguments.only != "text":
        measure_pages(run, arguments.readme)
    if arguments.only != "pages":
        tables.replace_section(arguments.readme, run.measure_text(), tables.TEXT_MARKERS)


if __name__ == "__main__":
    main()
