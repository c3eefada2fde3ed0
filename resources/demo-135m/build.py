#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the 135M demo on this machine, once; ./run --demo 135m and the desktop call it.

    .venv/bin/python resources/demo-135m/build.py [135m|smollm2] [--folder DIR]

The last line on stdout is the folder; what is said meanwhile goes to stderr. Exit codes: 0 done,
2 usage, 3 it could not be built, 4 interrupted.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "scripts")]

from demo_135m import building
from demo_135m.reporting import DemoError, JsonReporter, Reporter


def interrupt(_number: int, _frame: FrameType | None) -> None:
    """SIGTERM ends a build as Ctrl-C does: what was begun is removed."""
    raise KeyboardInterrupt


def run(arguments: argparse.Namespace, report: Reporter) -> int:
    """The chosen action; returns an exit code."""
    demo = building.DEMOS[arguments.demo]
    folder = (arguments.folder or building.default_folder(demo)).absolute()
    if arguments.status:
        print(f"{'built' if building.is_built(demo, folder) else 'missing'} {folder}")
        return 0
    try:
        report.finished(str(folder), building.build(demo, folder, report))
    except DemoError as error:
        report.failed(error)
        return 3
    except KeyboardInterrupt:
        report.failed(DemoError("The demo was not built: interrupted.", "Nothing was kept."))
        return 4
    if not arguments.json:
        print(folder)
    if arguments.check:
        from demo_135m.assemble import check

        print(f"values read right: {check(folder, arguments.check)}/{arguments.check}")
    return 0


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("demo", nargs="?", choices=building.DEMOS, default="135m")
    parser.add_argument("--folder", type=Path, help="where to, instead of the user's data folder")
    parser.add_argument("--status", action="store_true", help="only say whether it is there")
    parser.add_argument("--json", action="store_true", help="progress as JSON lines on stdout")
    parser.add_argument("--check", type=int, default=0, metavar="N", help="then ask N documents")
    signal.signal(signal.SIGTERM, interrupt)
    arguments = parser.parse_args()
    return run(arguments, JsonReporter() if arguments.json else Reporter())


if __name__ == "__main__":
    sys.exit(main())
