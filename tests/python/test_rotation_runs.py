# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of models whose keys turn by row and column (Qwen2-VL, Qwen3-VL) and of one with linear layers (Qwen3.5): what
their traces say of rotation and of layers without a cache, and that several questions do not disturb each other."""
from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
import pytest
from conftest import run_ecokv, run_program
from safetensors.torch import load_file, save_file
from test_geometry import quantities
from tiny_models import save_tiny
from tiny_pictures import photo
from tiny_qwen import RECIPES, chat_inputs, save_qwen
from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig

pytestmark = pytest.mark.oracle

Array = npt.NDArray[np.float64]
WORDS = "Which is older, 12 or 13?"


def unrotated(keys: Array, positions: npt.NDArray[np.int32], axes: npt.NDArray[np.uint8], frequencies: Array) -> Array:
    """R(-p) k of pairs (i, i + dim / 2), each by the position of its axis; the angle is a float32 product."""
    angles = (positions[:, axes].astype(np.float32) * frequencies.astype(np.float32)).astype(np.float64)
    first, second = np.split(keys, 2, axis=-1)
    cosine, sine = np.cos(angles), np.sin(angles)
    turned: Array = np.concatenate([first * cosine + second * sine, second * cosine - first * sine], -1)
    return turned


@pytest.mark.parametrize("recipe", ["qwen2 grouped", "qwen3 grouped"])
def test_a_trace_says_by_what_its_keys_were_rotated(recipe: str, tmp_path: Path) -> None:
    """F067: positions are those of the reference, and un-rotated metrics are those of the keys before them."""
    reference, processor = save_qwen(tmp_path / "model", RECIPES[recipe])
    pictures = [photo(112, 56, 1), photo(57, 140, 2)]
    for i, picture in enumerate(pictures):
        picture.save(tmp_path / f"{i}.png")
    path = tmp_path / "run.ecokv.h5"
    images = [argument for i in range(2) for argument in ("--image", tmp_path / f"{i}.png")]
    run_ecokv("run", "--model", tmp_path / "model", *images, "--prompt", WORDS, "--policy", "ecokv:geometry=pre",
              "--budget", 24, "--max-new-tokens", 3, "--trace", path)
    inputs = chat_inputs(processor, WORDS, pictures)
    positions = reference.model.get_rope_index(inputs["input_ids"], inputs["image_grid_thw"])[0][:, 0].T.numpy()
    with h5py.File(path) as trace:
        np.testing.assert_array_equal(trace["prompt/rope_positions"][...], positions)
        axes = trace["model/rope_axes"][...]
        assert set(axes.tolist()) == {0, 1, 2}
        frequencies = trace["model/rope_inverse_frequencies"][...].astype(np.float64)
        candidates = len(positions) - int(trace["policies/0"].attrs["recent"])
        for layer, head in np.ndindex(*trace["tensors/keys"].shape[:2]):
            keys = trace["tensors/keys"][layer, head].astype(np.float64)
            plain = unrotated(keys, positions, axes, frequencies)[:candidates]
            for metric, value in quantities(plain).items():
                if f"{metric}_pre" in trace["heads"]:
                    stored = trace[f"heads/{metric}_pre"][layer, head]
                    assert stored == pytest.approx(value, rel=1e-5, abs=1e-6), metric
    replayed = run_ecokv("replay", path)
    assert replayed["reproduces"]["heads_equal"] == replayed["reproduces"]["heads"]


def damage(folder: Path, ending: str) -> None:
    """The first number of the tensor of that name becomes NaN."""
    weights = load_file(folder / "model.safetensors")
    (tensor,) = (name for name in weights if name.endswith(ending))
    weights[tensor].view(-1)[0] = float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def test_features_of_a_damaged_deepstack_merger_are_not_blamed_on_the_decoder(tmp_path: Path) -> None:
    save_qwen(tmp_path / "model", RECIPES["qwen3 grouped"])
    damage(tmp_path / "model", "deepstack_merger_list.0.linear_fc2.bias")
    photo(112, 56, 1).save(tmp_path / "a.png")
    done = run_program("ecokv", "run", "--model", tmp_path / "model", "--image", tmp_path / "a.png", "--prompt", WORDS, "--policy", "full")
    assert done.returncode == 3 and "deepstack merger 0 gives for picture 1" in done.stderr and "Layer" not in done.stderr, done.stderr


@pytest.fixture(scope="module")
def hybrid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hybrid") / "model"
    save_tiny(folder, Qwen3_5ForCausalLM, Qwen3_5TextConfig(
        vocab_size=272, hidden_size=48, intermediate_size=64, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, linear_key_head_dim=8, linear_value_head_dim=8, linear_num_key_heads=2,
        linear_num_value_heads=4, max_position_embeddings=2048))
    return folder


def ask(hybrid: Path, *arguments: Any) -> dict[str, Any]:
    result: dict[str, Any] = run_ecokv("run", "--model", hybrid, "--policy", "ecokv", "--budget", 24,
                                       "--max-new-tokens", 8, *arguments)
    return result


def test_linear_layers_keep_nothing_and_are_in_no_mean(hybrid: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.ecokv.h5"
    result = ask(hybrid, "--prompt", "a long line of words " * 6, "--with-full", "--trace", path)
    linear = result["ledger"]["linear_layers"]
    assert linear == [1, 1, 1, 0]
    assert result["ledger"]["kept_tokens"] == [[0, 0], [0, 0], [0, 0], [24, 24]]
    assert result["ledger"]["full_bytes"] == 2 * 2 * result["prompt_tokens"] * 16 * 4  # one layer
    assert any("no KV cache (linear attention): layers 0, 1, 2" in note for note in result["notes"])
    with h5py.File(path) as trace:
        assert trace["model/linear_layers"][...].tolist() == linear
        redundancy = trace["heads/redundancy_cosine"][...]
        assert np.isnan(redundancy[:3]).all() and np.isfinite(redundancy[3]).all()
        assert trace["policies/0/budget_per_head"][...].tolist() == [[0, 0]] * 3 + [[24, 24]]
        assert int(trace.attrs["layers_written"]) == 4
    replayed = run_ecokv("replay", path)
    assert replayed["mean_kept"] == 24 and replayed["mean_output_error"] > 0
    assert replayed["reproduces"]["heads_equal"] == replayed["reproduces"]["heads"] == 2  # linear layers have no sets
    compared = run_ecokv("run", "--model", hybrid, "--prompt", "a long line of words " * 6, "--compare",
                         "snapkv:budget=24", "--max-new-tokens", 4)
    for row in compared["comparison"]:
        assert row["predicted_output_error"] is not None and np.isfinite(row["predicted_output_error"])
    full, policy = (next(row for row in compared["comparison"] if row["policy"].startswith(name))
                    for name in ("full", "snapkv"))
    assert policy["measured_output_error"] > full["measured_output_error"] == 0


def test_info_counts_the_cache_of_layers_that_have_one(hybrid: Path) -> None:
    """Of four layers only the last has keys and values: 2 of them, 2 heads, 16 dims, 4 bytes."""
    assert run_ecokv("info", hybrid)["details"]["KV cache"] == "256 bytes per token as float32"
    assert run_ecokv("doctor", hybrid)["cache_bytes_per_token"] == 256


@pytest.mark.parametrize(("part", "name"), [
    ("in_proj_qkv.weight", "in_proj_qkv"), ("in_proj_z.weight", "gate in_proj_z"), ("in_proj_b.weight", "in_proj_b"), ("conv1d.weight", "conv1d"),
    ("dt_bias", "dt_bias"), ("norm.weight", "delta net's norm"), ("out_proj.weight", "out_proj"),
])
def test_damaged_weights_of_a_linear_layer_are_named(hybrid: Path, tmp_path: Path, part: str, name: str) -> None:
    folder = tmp_path / "model"
    shutil.copytree(hybrid, folder)
    damage(folder, f"layers.1.linear_attn.{part}")
    done = run_program("ecokv", "run", "--model", folder, "--policy", "full", "--prompt", "Hello there", "--plain-prompt")
    assert done.returncode == 3 and "Layer 1 computes" in done.stderr and name in done.stderr, done.stderr


def test_questions_start_from_the_same_state(hybrid: Path) -> None:
    words = ("--prompt", "some words to read before " * 5)
    both = ask(hybrid, *words, "--ask", "first?", "--ask", "second?", "--ask", "first?")["questions"]
    alone = ask(hybrid, *words, "--ask", "second?")["questions"]
    assert both[0]["token_ids"] == both[2]["token_ids"]
    assert both[1]["token_ids"] == alone[0]["token_ids"]
    assert both[0]["token_ids"] != both[1]["token_ids"]


def test_a_cache_of_linear_layers_is_not_saved(hybrid: Path, tmp_path: Path) -> None:
    done = run_program("ecokv", "run", "--model", hybrid, "--prompt", "some words to read " * 5, "--budget", 24,
                       "--save-cache", tmp_path / "a.h5")
    assert done.returncode == 2 and "linear attention" in done.stderr
    assert not (tmp_path / "a.h5").exists()


def test_a_table_of_their_traces_leaves_them_open(hybrid: Path, tmp_path: Path) -> None:
    """export-table refused every such trace; what it writes now keeps what the measured numbers kept."""
    words, measured, stored, table = ("--prompt", "a long line of words " * 6), *(
        tmp_path / name for name in ("a.ecokv.h5", "b.ecokv.h5", "table.json"))
    ask(hybrid, *words, "--trace", measured)
    done = run_program("ecokv", "export-table", measured, "--out", table)
    assert done.returncode == 0 and "layers 0, 1, 2" in done.stdout, done.stderr
    values = json.loads(table.read_text("utf-8"))["values"]
    run_ecokv("run", "--model", hybrid, "--policy", f"ecokv:redundancy=table:{table}", "--budget", 24,
              "--max-new-tokens", 2, *words, "--trace", stored)
    with h5py.File(measured) as a, h5py.File(stored) as b:
        assert values[:3] == [None] * 3
        np.testing.assert_allclose(values[3], np.clip(a["heads/redundancy"][3], 0, 1), rtol=1e-6)
        assert (a["policies/0/kept"][...] == b["policies/0/kept"][...]).all()
