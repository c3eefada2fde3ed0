#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Adds up JUnit result files: lists failures and skips with their reasons, then counts on one line.

    summarize_tests.py RESULTS.xml [RESULTS.xml ...]

Exits with 1 when a test failed, a file is missing, or nothing ran at all.
"""
from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Totals:
    """Counts over all files; `failed` and `skipped` keep what is shown."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)


def skip_reason(case: ElementTree.Element, skipped: ElementTree.Element) -> str:
    """The words of GTEST_SKIP() or pytest.skip(), on one line."""
    output = case.findtext("system-out") or ""
    said = re.search(r"Skipped\n(.*?)\n(?:\[|\s*$)", output, re.DOTALL)
    reason = said.group(1) if said else skipped.get("message") or skipped.text or "no reason given"
    return " ".join(reason.split())


def add_file(path: Path, totals: Totals) -> None:
    for case in ElementTree.parse(path).iter("testcase"):
        name = f"{case.get('classname', '')}.{case.get('name', '')}".strip(".")
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            totals.failed.append(name)
        elif skipped is not None:
            totals.skipped.append((name, skip_reason(case, skipped)))
        else:
            totals.passed += 1


def main(paths: list[str]) -> int:
    totals = Totals()
    for path in map(Path, paths):
        if path.exists():
            add_file(path, totals)
        else:
            totals.failed.append(f"{path.name} was not written")
    for name, reason in totals.skipped:
        print(f"skipped: {name}: {reason}")
    for name in totals.failed:
        print(f"FAILED: {name}")
    print(f"{totals.passed} passed, {len(totals.failed)} failed, {len(totals.skipped)} skipped")
    return 1 if totals.failed or totals.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
