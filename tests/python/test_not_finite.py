# SPDX-License-Identifier: GPL-3.0-or-later
"""NaN and Inf: a run names the layer where they arise, a trace that holds some never looks perfect."""
from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from conftest import DEMO_DOCUMENTS, DEMO_MODEL, run_ecokv, run_program
from safetensors.torch import load_file, save_file

LAYER = "language_model.model.layers.{}."
PICTURE = DEMO_DOCUMENTS / "notice-board.png"
LAYERS = 6
DAMAGED = 2


def damaged_model(tmp_path: Path, tensor: str, value: float, at: int = 7) -> Path:
    """The demo with one number of one tensor changed."""
    folder = tmp_path / "model"
    shutil.copytree(DEMO_MODEL, folder)
    weights = load_file(folder / "model.safetensors")
    weights[tensor].view(-1)[at] = value
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.mark.parametrize(("tensor", "value", "words"), [
    (LAYER.format(2) + "self_attn.k_proj.weight", np.nan, ["Layer 2", "key projection", "download the checkpoint again"]),
    (LAYER.format(1) + "mlp.down_proj.weight", np.inf, ["Layer 1", "MLP down projection", "download"]),
    (LAYER.format(5) + "self_attn.o_proj.weight", np.nan, ["Layer 5", "output projection", "download"]),
    (LAYER.format(3) + "input_layernorm.weight", 3e38, ["Layer 3 is the first", "Check the checkpoint"]),
    ("language_model.lm_head.weight", np.nan, ["logits", "weights of its output head", "download"]),
    ("language_model.model.norm.weight", np.nan, ["logits", "weights of its final norm", "download"]),
    ("multi_modal_projector.linear_2.bias", np.nan, ["vision tower", "picture 1", "notice-board.png"]),
    ("language_model.model.embed_tokens.weight", np.nan, ["embeddings of the prompt's tokens"]),
])
def test_a_run_names_the_first_layer_that_is_not_finite(tmp_path: Path, tensor: str, value: float, words: list[str]) -> None:
    at = ord("Z") * 128 if "embed" in tensor else 7  # tokens are bytes
    folder = damaged_model(tmp_path, tensor, value, at)
    for extra in (["--policy", "full"], ["--budget", 48], ["--compare", "ecokv", "--budgets", 48]):
        done = run_program("ecokv", "run", "--model", folder, "--image", PICTURE, "--prompt", "ZXY?", "--dtype", "f32", *extra)
        assert done.returncode == 3, done.stderr
        assert "not finite (NaN or Inf)" in done.stderr
        assert all(word in done.stderr for word in words), done.stderr
        assert "--dtype f32" not in done.stderr  # it is used already


def test_half_precision_may_be_the_cause(tmp_path: Path) -> None:
    folder = damaged_model(tmp_path, LAYER.format(3) + "input_layernorm.weight", 3e38)
    done = run_program("ecokv", "run", "--model", folder, "--prompt", "ZXY?", "--dtype", "bf16", "--policy", "full")
    assert done.returncode == 3 and "Layer 3" in done.stderr and "Try --dtype f32" in done.stderr, done.stderr


def test_a_question_is_told_too(tmp_path: Path) -> None:
    """The context holds no byte "~"; the embedding of that byte is damaged."""
    folder = damaged_model(tmp_path, "language_model.model.embed_tokens.weight", np.nan, ord("~") * 128)
    done = run_program("ecokv", "run", "--model", folder, "--image", PICTURE, "--budget", 48, "--ask", "~?")
    assert done.returncode == 3 and "From layer 0 on" in done.stderr and "token 2" in done.stderr and "not finite" in done.stderr, done.stderr


# --- traces ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def damaged_trace(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A trace as it was, and one as a run before this check recorded it: layer 2 is NaN from token 5 on."""
    folder = tmp_path_factory.mktemp("trace")
    good, bad = folder / "good.ecokv.h5", folder / "bad.ecokv.h5"
    run_ecokv("run", "--model", DEMO_MODEL, "--image", PICTURE, "--prompt", "ZXY?", "--budget", 48, "--trace", good)
    shutil.copy(good, bad)
    with h5py.File(bad, "r+") as file:
        for name in ("keys", "values"):
            tensor = file[f"tensors/{name}"]
            part = tensor[DAMAGED]
            part[:, 5:] = np.nan
            tensor[DAMAGED] = part
        heads = file["tensors/keys"].shape[1]
        count = file["tensors/keys"].shape[2] - 5
        notes = [f"layer {DAMAGED} head {head}: {count} keys hold NaN or Inf, counted as zero" for head in range(heads)]
        file["run/log"][()] = "\n".join([file["run/log"].asstr()[()], *notes])
        for metric in file["heads"].values():
            if metric.shape == (LAYERS, heads):
                metric[DAMAGED] = 0.0  # what kernels make of zeros
    return {"good": good, "bad": bad}


def test_replay_says_not_finite_and_means_leave_the_layer_out(damaged_trace: dict[str, Path]) -> None:
    good, bad = (run_ecokv("replay", damaged_trace[name]) for name in ("good", "bad"))
    assert good["not_finite"] == [] and bad["not_finite"] == [DAMAGED]
    numbers = ("redundancy", "redundancy_cosine", "anisotropy", "mean_key_norm", "retained_mass", "output_error")
    for head in bad["heads"]:
        assert all((head[name] is None) == (head["layer"] == DAMAGED) for name in numbers)
    for mean, name in (("mean_retained_mass", "retained_mass"), ("mean_output_error", "output_error")):
        others = [head[name] for head in good["heads"] if head["layer"] != DAMAGED]
        assert bad[mean] == pytest.approx(np.mean(others), rel=1e-6)
    done = run_program("ecokv", "replay", damaged_trace["bad"])
    row = next(line for line in done.stdout.splitlines() if line.split()[:1] == [str(DAMAGED)])
    assert row.endswith("not finite") and row.split()[2:5] == ["-", "-", "-"], row
    assert "Layer 2 holds numbers that are not finite" in done.stderr


def test_sweeps_leave_the_layer_out_and_say_so(damaged_trace: dict[str, Path]) -> None:
    arguments = ["--policies", "ecokv,streaming", "--budgets", 24]
    bad = run_ecokv("sweep", damaged_trace["bad"], *arguments)["rows"]
    for row in bad:
        assert "not finite: layer 2" in row["note"]
        heads = run_ecokv("replay", damaged_trace["good"], "--policy", row["settings"])["heads"]
        others = [head["output_error"] for head in heads if head["layer"] != DAMAGED]
        assert row["rows"] == row["window"]  # so both are measured on the same rows
        assert row["output_error"] == pytest.approx(np.mean(others), rel=1e-5)
        assert row["output_error_max"] > 0


@pytest.mark.parametrize("recorded", [True, False])
def test_geometry_says_not_finite(damaged_trace: dict[str, Path], tmp_path: Path, recorded: bool) -> None:
    """As a run recorded it, and measured from the keys of a file without anything else."""
    trace = damaged_trace["bad"]
    if not recorded:
        trace = tmp_path / "keys.h5"
        with h5py.File(damaged_trace["bad"]) as source, h5py.File(trace, "w") as file:
            source.copy("tensors", file)
    result = run_ecokv("geometry", trace)
    assert result["source"] == ("recorded" if recorded else "keys") and result["not_finite"] == [DAMAGED]
    for head in result["heads"]:
        values: dict[str, Any] = head["metrics"]
        assert (values["redundancy_cosine"] is None) == (head["layer"] == DAMAGED)
        assert (values["anisotropy"] is None) == (head["layer"] == DAMAGED)
    assert any("Layer 2 holds numbers that are not finite" in note for note in result["notes"])
    lines = [line for line in run_program("ecokv", "geometry", trace).stdout.splitlines() if line.split()[:1] == ["2"]]
    assert lines and all(line.endswith("not finite") for line in lines), lines


@pytest.mark.parametrize("noted", [True, False])
def test_diffs_say_not_finite_and_means_leave_the_layer_out(damaged_trace: dict[str, Path], tmp_path: Path, noted: bool) -> None:
    """As the run noted it, with survivors it stored, and found in the keys."""
    trace = damaged_trace["bad"]
    if not noted:
        trace = tmp_path / "keys.h5"
        with h5py.File(damaged_trace["bad"]) as source, h5py.File(trace, "w") as file:
            source.copy("tensors", file)
    sides = ["--a", "0" if noted else "ecokv:budget=48", "--b", "streaming:budget=48"]
    result = run_ecokv("diff", trace, *sides)
    assert result["not_finite"] == [DAMAGED] and any("Layer 2 holds numbers" in note for note in result["notes"])
    others = [head["jaccard"] for head in result["heads"] if head["layer"] != DAMAGED]
    assert result["mean_jaccard"] == pytest.approx(np.mean(others), abs=1e-12)
    for head in result["heads"]:
        assert (head["jaccard"] is None) == (head["layer"] == DAMAGED)
        assert head["layer"] != DAMAGED or not head["only_a"] + head["only_b"]
    done = run_program("ecokv", "diff", trace, *sides)
    lines = [line for line in done.stdout.splitlines() if line.split()[:1] == ["2"]]
    assert lines and all(line.endswith("not finite") for line in lines), lines
    assert "Layer 2 holds numbers that are not finite" in done.stderr


def test_no_table_is_made_of_numbers_that_are_none(damaged_trace: dict[str, Path], tmp_path: Path) -> None:
    done = run_program("ecokv", "export-table", damaged_trace["bad"], "--out", tmp_path / "t.json")
    assert done.returncode == 3 and "layer 2 head 0" in done.stderr, done.stderr
