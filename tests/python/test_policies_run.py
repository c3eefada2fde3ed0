# SPDX-License-Identifier: GPL-3.0-or-later
"""Policies with allocators on the demo model: reading the prompt in chunks and replaying the trace change no survivor."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from conftest import DEMO_DOCUMENTS, DEMO_MODEL, run_ecokv, run_program
from tiny_llava import PLAIN, make_checkpoint

BUDGET = 36


def run_arguments(documents: list[dict[str, Any]], *more: object) -> list[object]:
    document = documents[2]
    return ["run", "--model", DEMO_MODEL, "--image", DEMO_DOCUMENTS / document["file"], "--prompt",
            document["questions"][0]["question"], "--max-new-tokens", 2, *more]


@pytest.mark.parametrize("policy", ["h2o:allocator=adaptive", "tova:allocator=pyramid", "rkv:geometry=pre", "keydiff:geometry=pre",
                                    "vnorm:allocator=adaptive,floor=0.5", "mixkv:redundancy=0.5,pool=31"])
def test_chunks_and_replays_keep_the_same_tokens(tmp_path: Path, demo_documents: list[dict[str, Any]], policy: str) -> None:
    whole, chunked, replayed = (tmp_path / f"{name}.ecokv.h5" for name in ("whole", "chunked", "replayed"))
    run_ecokv(*run_arguments(demo_documents, "--policy", policy, "--budget", BUDGET, "--trace", whole))
    run_ecokv(*run_arguments(demo_documents, "--policy", policy, "--budget", BUDGET, "--trace", chunked,
                             "--prefill-chunk", 50))
    done = run_program("ecokv", "replay", whole, "--out", replayed)
    assert done.returncode == 0, done.stderr
    with h5py.File(whole) as a, h5py.File(chunked) as b, h5py.File(replayed) as c:
        kept = a["policies/0/kept"][...]
        assert kept.sum() == kept.shape[0] * kept.shape[1] * BUDGET
        assert (c["policies/0/kept"][...] == kept).all()
        for name in ("retained_mass", "output_error"):
            np.testing.assert_allclose(c[f"policies/0/{name}"][...], a[f"policies/0/{name}"][...], atol=1e-5)
        # Keys of a chunked prefill differ by rounding, so a tie at the border may fall the other way.
        assert (b["policies/0/kept"][...] != kept).sum() <= 0.002 * kept.size


@pytest.mark.parametrize("allocator", ["uniform", "pyramid", "adaptive"])
def test_a_model_of_one_layer_keeps_the_average(tmp_path: Path, allocator: str) -> None:
    """F005: nothing is divided by the number of steps between layers, of which there are none."""
    make_checkpoint(tmp_path / "model", PLAIN | {"text": PLAIN["text"] | {"num_hidden_layers": 1}})
    result = run_ecokv("run", "--model", tmp_path / "model", "--prompt", "x" * 60, "--policy", "ecokv", "--budget", 16,
                       "--allocator", allocator, "--max-new-tokens", 3)
    kept = np.array(result["ledger"]["kept_tokens"])
    assert kept.shape == (1, 4) and kept.sum() == 4 * 16 and result["compressed"]
    assert allocator == "adaptive" or (kept == 16).all()
    tiny = run_ecokv("run", "--model", tmp_path / "model", "--prompt", "x", "--policy", "knorm", "--ratio", 0.96,
                     "--allocator", allocator, "--max-new-tokens", 3)
    assert tiny["prompt_tokens"] == 10 and (np.array(tiny["ledger"]["kept_tokens"]) == 1).all()
    assert np.isfinite(tiny["logprob"]).all()


def test_what_a_trace_lacks_is_said_without_advice_that_cannot_help(tmp_path: Path,
                                                                   demo_documents: list[dict[str, Any]]) -> None:
    path = tmp_path / "short.ecokv.h5"
    run_ecokv(*run_arguments(demo_documents, "--policy", "knorm", "--budget", BUDGET, "--trace", path, "--no-values"))
    rows = run_program("ecokv", "replay", path, "--policy", "h2o", "--budget", BUDGET)
    assert rows.returncode == 2
    assert "recorded the last 64" in rows.stderr and "--record-window" in rows.stderr and "window=64" not in rows.stderr
    values = run_program("ecokv", "replay", path, "--policy", "vnorm", "--budget", BUDGET)
    assert values.returncode == 2
    assert "no /tensors/values" in values.stderr and "vnorm=off" not in values.stderr
