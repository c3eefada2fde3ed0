# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are no trace: every command says so in a sentence, with what to do."""
from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import run_program


def test_a_broken_trace_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "broken.ecokv.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + os.urandom(2000))
    done = run_program("ecokv", "info", path)
    assert done.returncode == 3 and "broken.ecokv.h5" in done.stderr


@pytest.mark.parametrize("command", [
    ["replay", "FILE"], ["sweep", "FILE", "--policies", "ecokv", "--budgets", 8], ["geometry", "FILE"],
    ["diff", "FILE", "--a", "0", "--b", "ecokv"], ["info", "FILE"],
    ["export-table", "FILE", "--kind", "redundancy", "--out", "table.json"]])
@pytest.mark.parametrize(("content", "words"), [
    (None, "does not exist"), ("words", "is not an HDF5 file"), ("a folder", "is not a file")])
def test_what_is_no_trace_is_refused_with_advice(command: list[object], content: str | None, words: str,
                                                 tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    if content == "words":
        path.write_text("not a trace at all\n" * 100)
    elif content is not None:
        path.mkdir()
        if command[0] == "info":
            pytest.skip("info describes model folders too")
    done = run_program("ecokv", *[path if part == "FILE" else part for part in command], cwd=tmp_path)
    assert done.returncode == 3 and words in done.stderr, done.stderr
    assert "x.h5" in done.stderr.splitlines()[0] and "trace" in done.stderr.splitlines()[1], done.stderr
