# SPDX-License-Identifier: GPL-3.0-or-later
"""What the Python tests share: where the build is, where the demo model is, how programs are run."""
from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("ECOKV_BUILD_DIR", ROOT / "build" / "release"))
DEMO_MODEL = ROOT / "resources" / "demo-model"
DEMO_DOCUMENTS = ROOT / "resources" / "demo-documents"


def program(name: str) -> Path:
    """A built program; skips the test, with the reason, where it was not built."""
    path = BUILD / "bin" / name
    if not path.exists():
        pytest.skip(f"{name} is not built in {BUILD.name}")
    return path


def run_program(name: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a built program with text output captured; the caller looks at the exit code."""
    return subprocess.run([str(program(name)), *map(str, arguments)], capture_output=True,
                          text=True, timeout=options.pop("timeout", 300), **options)


def run_ecokv(*arguments: object, **options: Any) -> dict[str, Any]:
    """`ecokv ARGUMENTS --json`: must exit with 0; returns the JSON object."""
    done = run_program("ecokv", *arguments, "--json", **options)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def edit_json(path: Path, **changes: Any) -> None:
    """Sets keys of a JSON file; None removes one. "text_config.rope_theta" stands for a key inside."""
    content = json.loads(path.read_text("utf-8"))
    for dotted, value in changes.items():
        *parents, key = dotted.split(".")
        target = content
        for parent in parents:
            target = target[parent]
        if value is None:
            target.pop(key, None)
        else:
            target[key] = value
    path.write_text(json.dumps(content), "utf-8")


@pytest.fixture(scope="session")
def demo_documents() -> list[dict[str, Any]]:
    """The demo documents: file, lines, questions with right answers."""
    listing = json.loads((DEMO_DOCUMENTS / "documents.json").read_text("utf-8"))
    documents: list[dict[str, Any]] = listing["documents"]
    return documents
