# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs single parts of the C++ model code through the built ecokv_model_probe."""
from __future__ import annotations

import json
import subprocess
from typing import Any

from conftest import program


def run_probe(*arguments: object, stdin: Any = None) -> subprocess.CompletedProcess[bytes]:
    """The finished process; `stdin` is sent as JSON."""
    data = b"" if stdin is None else json.dumps(stdin).encode()
    return subprocess.run([str(program("ecokv_model_probe")), *map(str, arguments)], input=data,
                          capture_output=True, timeout=300)


def probe(*arguments: object, stdin: Any = None) -> Any:
    """The JSON the probe prints; it must succeed."""
    done = run_probe(*arguments, stdin=stdin)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def refusal(*arguments: object, stdin: Any = None) -> str:
    """The sentence with which the probe refuses bad input."""
    done = run_probe(*arguments, stdin=stdin)
    assert done.returncode == 3, f"accepted: {done.stdout[:200]!r} {done.stderr[:200]!r}"
    return done.stderr.decode()
