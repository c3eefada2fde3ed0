# SPDX-License-Identifier: GPL-3.0-or-later
"""The demos that are built from a downloaded package, once per test run; skipped where it cannot be had."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUILD, ROOT

SCRIPT = ROOT / "resources" / "demo-135m" / "build.py"


def start_build(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    """`build.py ARGUMENTS`, with its output as text."""
    return subprocess.run([sys.executable, str(SCRIPT), *map(str, arguments)], capture_output=True, text=True,
                          timeout=600, check=False, **options)


def last_line(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    """What a build with --json said last."""
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def built_demo(name: str) -> Path:
    """The folder of a demo, built below the build folder unless it is there and whole."""
    folder = BUILD / "test-demos" / name
    done = start_build(name, "--json", "--folder", folder)
    said = last_line(done)
    if "cannot be reached" in str(said.get("error", "")):
        pytest.skip(str(said["error"]))
    assert done.returncode == 0, f"{said}\n{done.stderr}"
    return Path(str(said["folder"]))
