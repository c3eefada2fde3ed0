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


@pytest.mark.oracle
@pytest.mark.parametrize("policy", ["keydiff", "manifoldkv", "ecokv", "mixkv:window=8"])
def test_a_run_with_unrotated_geometry_follows_numpy(tmp_path: Path, demo_documents: list[dict[str, Any]], policy: str) -> None:
    """The demo's rotation (theta 10000, halves) undone by position: scores or diversities of the live run, and its survivors."""
    path = tmp_path / "pre.ecokv.h5"
    run_ecokv(*run_arguments(demo_documents, "--policy", policy, "--geometry", "pre", "--budget", BUDGET, "--dtype", "f32",
                             "--trace", path))
    with h5py.File(path) as trace:
        recorded = trace["tensors/keys"][...].astype(np.float64)
        score, kept = trace["scores/score"][...], trace["policies/0/kept"][...] > 0
        parts = {name: trace[f"scores/diversity_{name}"][...] for name in ("cosine", "euclid")}
    half = recorded.shape[-1] // 2
    angle = np.arange(recorded.shape[2])[:, None] * 10000.0 ** (-np.arange(half) / half)
    first, second = recorded[..., :half], recorded[..., half:]
    keys = np.concatenate([first * np.cos(angle) + second * np.sin(angle), second * np.cos(angle) - first * np.sin(angle)], -1)
    for at in np.ndindex(keys.shape[:2]):
        candidates = np.isfinite(score[at])
        own = keys[at][candidates]
        unit = own / np.linalg.norm(own, axis=1, keepdims=True)
        unlike, far = -unit @ unit.mean(0), np.linalg.norm(own - own.mean(0), axis=1)
        if policy in ("keydiff", "manifoldkv"):
            expected = unlike if policy == "keydiff" else far
            np.testing.assert_allclose(score[at][candidates], expected, atol=2e-6 * np.abs(expected).max())
        for name, raw in (("cosine", unlike), ("euclid", far)):
            np.testing.assert_allclose(parts[name][at][candidates], (raw - raw.min()) / np.ptp(raw), atol=2e-5)
        best = np.flatnonzero(candidates)[np.argsort(-score[at][candidates], kind="stable")[:BUDGET - (~candidates).sum()]]
        assert set(np.flatnonzero(kept[at])) == set(best) | set(np.flatnonzero(~candidates))


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
