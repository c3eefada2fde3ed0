# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose importance and survivors `ecokv geometry` shows, and of which layers."""
from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from conftest import DEMO_DOCUMENTS, DEMO_MODEL, run_ecokv, run_program


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, demo_documents: list[dict[str, Any]]) -> Path:
    path = tmp_path_factory.mktemp("geometry") / "run.ecokv.h5"
    document = demo_documents[0]
    run_ecokv("run", "--model", DEMO_MODEL, "--image", DEMO_DOCUMENTS / document["file"], "--prompt",
              document["questions"][0]["question"], "--budget", 48, "--max-new-tokens", 2, "--trace", path)
    return path


@pytest.fixture(scope="module")
def with_full(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As a comparison writes it: "full" in front, then the policy whose scores are recorded."""
    path = tmp_path_factory.mktemp("compared") / "run.ecokv.h5"
    shutil.copy(recorded, path)
    with h5py.File(path, "r+") as trace:
        trace.copy("policies/0", "policies/1")
        trace["policies/0"].attrs["policy"] = "full"
        trace["policies/0/kept"][...] = 1
        trace["run"].attrs["scores_policy"] = "1"
    return path


def first_line(path: Path) -> str:
    return path.read_text("utf-8").splitlines()[0]


def test_a_comparison_is_clustered_by_the_policy_of_its_scores(with_full: Path, recorded: Path) -> None:
    report = run_ecokv("geometry", with_full)
    assert report["scores"] == "recorded" and report["clusters"]["policy"].startswith("ecokv, budget 48")
    assert report["clusters"]["merges"] == run_ecokv("geometry", recorded)["clusters"]["merges"]
    assert max(merge[2] for merge in report["clusters"]["merges"]) > 0
    asked = run_ecokv("geometry", with_full, "--policy", "0")
    assert asked["clusters"]["policy"].startswith("full") and asked["scores"].startswith("full")


@pytest.mark.parametrize(("policy", "named"), [((), "ecokv, budget 48"), (("--policy", "0"), "full, budget 48"),
                                               (("--policy", "snapkv:budget=64"), "snapkv:budget=64 replayed")])
def test_tables_name_the_policy_whose_values_they_hold(with_full: Path, tmp_path: Path, policy: tuple[str, ...], named: str) -> None:
    heads, survivors = tmp_path / "h.csv", tmp_path / "s.csv"
    done = run_program("ecokv", "geometry", with_full, *policy, "--csv", heads, "--survivors-csv", survivors)
    assert done.returncode == 0, done.stderr
    for table in (heads, survivors):
        assert f"prompt of 269 tokens, {named}" in first_line(table)


@pytest.mark.parametrize("head", [(), ("--head", 0, "--similarity-csv")])
def test_a_layer_without_a_cache_has_no_geometry(recorded: Path, tmp_path: Path, head: tuple[object, ...]) -> None:
    path, table = tmp_path / "linear.ecokv.h5", tmp_path / "alike.csv"
    shutil.copy(recorded, path)
    with h5py.File(path, "r+") as trace:
        trace["model"].create_dataset("linear_layers", data=np.array([1] + [0] * (trace["tensors/keys"].shape[0] - 1), np.uint8))
    done = run_program("ecokv", "geometry", path, "--layer", 0, *head, *((table,) if head else ()))
    assert done.returncode == 2 and "Layer 0 has no KV cache" in done.stderr and "These have one: 1, 2" in done.stderr
    assert not done.stdout and not table.exists()


def test_layers_that_slide_are_listed_and_in_no_mean(recorded: Path, tmp_path: Path) -> None:
    path = tmp_path / "sliding.ecokv.h5"
    shutil.copy(recorded, path)
    with h5py.File(path, "r+") as trace:
        layers, kv_heads = trace["tensors/keys"].shape[:2]
        trace["model"].create_dataset("sliding_windows", data=np.array([32] + [0] * (layers - 1), np.int64))
        undone, rotated = (trace[f"heads/redundancy_cosine{name}"][1:].astype(np.float64) for name in ("_pre", ""))
    report = run_ecokv("geometry", path)
    summary = " ".join(report["summary"])
    assert report["layers_left_out"] == 1 and f"1 of {layers} layers (not evicted)" in summary
    assert [head["evicted"] for head in report["heads"]] == [False] * kv_heads + [True] * ((layers - 1) * kv_heads)
    assert report["heads"][0]["metrics"]["anisotropy"] is not None
    assert (f"moves the mean redundancy from {rotated.mean():.2f} to {undone.mean():.2f}; it grows in "
            f"{(undone > rotated).sum()} of {undone.size} heads") in summary
    text = run_program("ecokv", "geometry", path).stdout.splitlines()
    assert all(text[1 + head].endswith("sliding, not evicted") == (head < kv_heads) for head in range(layers * kv_heads))
