# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory of a run on a large checkpoint whose data is a hole on disk: weights stay in the mapped files.

By hand, for any shape: python tests/python/test_large_checkpoint.py FOLDER TOKENS
"""
from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, program, run_ecokv

sys.path.insert(0, str(ROOT / "scripts"))
from sparse_checkpoint import make  # noqa: E402

BUDGET = 64


def measure(model: Path, tokens: int) -> tuple[dict[str, int], dict[str, Any]]:
    """Highest bytes of each kind while `ecokv run` works, and its JSON."""
    arguments = [program("ecokv"), "run", "--model", model, "--plain-prompt", "--prompt", "<s>" + "x" * (tokens - 1), "--dtype", "bf16",
                 "--threads", 2, "--max-new-tokens", 1, "--budget", BUDGET, "--json"]
    peak = {"RssAnon": 0, "RssFile": 0}
    with subprocess.Popen([str(a) for a in arguments], stdout=subprocess.PIPE) as process:
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            for line in status.read_text("utf-8").splitlines():
                kind = line.split(":")[0]
                if kind in peak:
                    peak[kind] = max(peak[kind], int(line.split()[1]) * 1024)
            time.sleep(0.01)
        assert process.stdout is not None
        out = process.stdout.read()
    assert process.returncode == 0
    return peak, json.loads(out)


def forecast(model: Path, tokens: int) -> dict[str, Any]:
    """What the doctor predicts for the same run."""
    report = run_ecokv("doctor", model, "--plain-prompt", "--prompt", "<s>" + "x" * (tokens - 1), "--dtype", "bf16", "--budget", BUDGET)
    assert report["prompt_tokens"] == tokens
    memory: dict[str, Any] = report["memory"]
    return memory


@pytest.mark.slow
def test_bf16_weights_are_never_copied(tmp_path: Path) -> None:
    """1B shape, 2.8 GB of weights: memory of the process's own stays below a tenth of them beyond the forecast."""
    model = make(tmp_path / "model", "1b")
    empty, _ = measure(make(tmp_path / "small", "small"), 8)  # the program and LibTorch
    peak, _ = measure(model, 100)
    predicted = forecast(model, 100)
    assert predicted["weights_are_mapped"]
    own = peak["RssAnon"] - empty["RssAnon"]
    assert own <= predicted["besides_weights"] + 0.1 * predicted["weights"], (peak, empty, predicted)
    assert peak["RssFile"] - empty["RssFile"] <= 1.02 * predicted["weights"], (peak, empty, predicted)


if __name__ == "__main__":
    begin = time.monotonic()
    measured, _ = measure(Path(sys.argv[1]), int(sys.argv[2]))
    print(f"{time.monotonic() - begin:.1f} s", {k: f"{v / 1e9:.3f} GB" for k, v in measured.items()}, forecast(Path(sys.argv[1]), int(sys.argv[2])))
