# SPDX-License-Identifier: GPL-3.0-or-later
"""What a build says while it works: for people on a terminal, or a JSON object a line for a program."""

from __future__ import annotations

import json
import sys
from typing import Any, TextIO


class DemoError(Exception):
    """A build that cannot go on: a sentence for people and what to do about it."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice


class Reporter:
    """Sentences on stderr; a percentage that is written over itself where that is possible."""

    def __init__(self, out: TextIO = sys.stderr) -> None:
        self._out = out
        self._stage = ""
        self._percent = -1

    def progress(self, stage: str, done: int = 0, total: int = 0, unit: str = "") -> None:
        """`done` of `total` in `unit`; a total of 0 is unknown."""
        percent = 100 * done // total if total else -1
        if (stage, percent) == (self._stage, self._percent):
            return
        if stage != self._stage:
            self._end_line()
            self._write(stage)
        elif self._out.isatty():
            self._write(f"\r{stage}")
        else:
            return
        if percent >= 0 and self._out.isatty():
            self._write(f" {percent:3} %")
        self._stage, self._percent = stage, percent

    def finished(self, folder: str, built: bool) -> None:
        """The model is there; `built` now, not before."""
        self._end_line()
        self._write(f"{'Built' if built else 'Found'} {folder}\n")

    def failed(self, error: DemoError) -> None:
        """Says what went wrong and what to do."""
        self._end_line()
        self._write(f"{error.message}\n")
        if error.advice:
            self._write(f"{error.advice}\n")

    def _end_line(self) -> None:
        if self._stage:
            self._write("\n")
        self._stage, self._percent = "", -1

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


class JsonReporter(Reporter):
    """The same as JSON objects, one a line: `stage`, `done`, `total`, `unit`; `folder`, `built`;
    `error`, `advice`."""

    def __init__(self, out: TextIO = sys.stdout) -> None:
        super().__init__(out)

    def progress(self, stage: str, done: int = 0, total: int = 0, unit: str = "") -> None:
        self._send(stage=stage, done=done, total=total, unit=unit)

    def finished(self, folder: str, built: bool) -> None:
        self._send(folder=folder, built=built)

    def failed(self, error: DemoError) -> None:
        self._send(error=error.message, advice=error.advice)

    def _send(self, **fields: Any) -> None:
        self._write(json.dumps(fields) + "\n")
