# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys rotated by transformers' own code are un-rotated (geometry=pre) by what a trace says of their rotation: rows and
columns of pictures (M-RoPE), part of the dims, yarn, an embedding per layer. Oracle: numpy on the keys before."""
from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
import pytest
import torch
from conftest import run_ecokv, run_program
from test_geometry import quantities
from transformers.models.gemma3.configuration_gemma3 import Gemma3TextConfig
from transformers.models.gemma3.modeling_gemma3 import Gemma3RotaryEmbedding
from transformers.models.qwen2_vl.configuration_qwen2_vl import Qwen2VLTextConfig
from transformers.models.qwen2_vl.modeling_qwen2_vl import (
    Qwen2VLRotaryEmbedding,
    apply_multimodal_rotary_pos_emb,
)
from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5TextConfig
from transformers.models.qwen3_5.modeling_qwen3_5 import (
    Qwen3_5TextRotaryEmbedding,
    apply_rotary_pos_emb,
)
from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLTextConfig
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextRotaryEmbedding

pytestmark = pytest.mark.oracle

LAYERS, HEADS, TOKENS, DIM, ROWS, COLUMNS, BEFORE = 2, 2, 60, 32, 5, 7, 9


def picture_positions() -> npt.NDArray[np.int32]:
    """[token, 3]: text, a picture of ROWS x COLUMNS, text that goes on at the largest position (F067)."""
    before = [(i, i, i) for i in range(BEFORE)]
    picture = [(BEFORE, BEFORE + r, BEFORE + c) for r in range(ROWS) for c in range(COLUMNS)]
    first = BEFORE + max(ROWS, COLUMNS)
    behind = [(first + i,) * 3 for i in range(TOKENS - len(before) - len(picture))]
    return np.array(before + picture + behind, np.int32)


@dataclass
class Rotated:
    """What a trace says, and its keys [layer, head, token, dim]."""
    keys: torch.Tensor
    model: dict[str, npt.NDArray[Any]]
    attributes: dict[str, float] = field(default_factory=dict)
    positions: npt.NDArray[np.int32] | None = None


def plain_keys() -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(LAYERS, HEADS, TOKENS, DIM, generator=generator) + torch.linspace(-1, 2, DIM)


def sections(counts: list[int]) -> npt.NDArray[np.uint8]:
    return np.repeat(np.arange(3), counts).astype(np.uint8)


def interleaved(counts: list[int], pairs: int) -> npt.NDArray[np.uint8]:
    axes = np.zeros(pairs, np.uint8)
    for axis in (1, 2):
        axes[axis:counts[axis] * 3:3] = axis
    return axes


def rotated(kind: str, keys: torch.Tensor) -> Rotated:
    positions = picture_positions()
    ids = torch.from_numpy(positions.T.astype(np.int64))[:, None]
    shape: dict[str, Any] = {"hidden_size": 64, "num_attention_heads": 2, "head_dim": DIM}
    rotary: Any
    rope: Any
    ropes: Any
    if kind == "chunked":  # Qwen2-VL, Qwen2.5-VL
        rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [4, 6, 6]}
        config: Any = Qwen2VLTextConfig(**shape, rope_parameters=rope)
        rotary = Qwen2VLRotaryEmbedding(config)
        cosine, sine = rotary(keys, ids)
        turned = apply_multimodal_rotary_pos_emb(keys, keys, cosine, sine, [4, 6, 6])[1]
        return Rotated(turned, {"rope_inverse_frequencies": rotary.inv_freq.numpy(),
                                "rope_axes": sections([4, 6, 6])}, {}, positions)
    if kind == "interleaved":  # Qwen3-VL
        rope = {"rope_type": "default", "rope_theta": 5e6, "mrope_section": [6, 5, 5]}
        rotary = Qwen3VLTextRotaryEmbedding(Qwen3VLTextConfig(**shape, rope_parameters=rope))
        turned = apply_rotary_pos_emb(keys, keys, *rotary(keys, ids))[1]
        return Rotated(turned, {"rope_inverse_frequencies": rotary.inv_freq.numpy(),
                                "rope_axes": interleaved([6, 5, 5], DIM // 2)}, {}, positions)
    if kind == "partial yarn":  # Qwen3.5: a quarter of the dims turns; yarn scales those alone
        rope = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 64,
                "partial_rotary_factor": 0.25, "mrope_section": [2, 1, 1]}
        rotary = Qwen3_5TextRotaryEmbedding(Qwen3_5TextConfig(
            **shape, rope_parameters=rope, max_position_embeddings=256))
        assert rotary.attention_scaling > 1.1 and len(rotary.inv_freq) == DIM // 8
        turned = apply_rotary_pos_emb(keys, keys, *rotary(keys, ids))[1]
        return Rotated(turned, {"rope_inverse_frequencies": rotary.inv_freq.numpy(),
                                "rope_axes": interleaved([2, 1, 1], DIM // 8)},
                       {"rope_attention_scaling": rotary.attention_scaling}, positions)
    ropes = {"full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
             "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}
    types = ["sliding_attention", "full_attention"]
    rotary = Gemma3RotaryEmbedding(Gemma3TextConfig(**shape, num_hidden_layers=2, layer_types=types,
                                                    rope_parameters=ropes))
    places = torch.arange(TOKENS)[None]
    turned = torch.stack([apply_rotary_pos_emb(keys[i:i + 1], keys[i:i + 1], *rotary(keys, places, types[i]))[1][0]
                          for i in range(2)])
    return Rotated(turned, {"rope_inverse_frequencies": rotary.full_attention_inv_freq.numpy(),
                            "rope_inverse_frequencies_1": rotary.sliding_attention_inv_freq.numpy(),
                            "rope_of_layer": np.array([1, 0], np.uint8)})


def write(path: Path, rope: Rotated) -> None:
    with h5py.File(path, "w") as file:
        file["tensors/keys"] = rope.keys.numpy()
        file["tensors/window_queries"] = np.random.default_rng(1).standard_normal(
            (LAYERS, HEADS, 8, DIM), np.float32)
        for name, values in rope.model.items():
            file[f"model/{name}"] = values
        file["model"].attrs["rope_style"] = "half"
        file["model"].attrs.update(rope.attributes)
        if rope.positions is not None:
            file["prompt/rope_positions"] = rope.positions


@pytest.mark.parametrize("kind", ["chunked", "interleaved", "partial yarn", "per layer"])
def test_unrotated_geometry_is_that_of_the_keys_before(kind: str, tmp_path: Path) -> None:
    """Metrics within 1e-5: keys of length 6 to 12 were rounded to float32 when they were rotated."""
    keys = plain_keys()
    turned = rotated(kind, keys)
    assert float((turned.keys - keys).abs().max()) > 1
    write(tmp_path / "trace.h5", turned)
    report = run_ecokv("geometry", tmp_path / "trace.h5")
    assert len(report["heads"]) == LAYERS * HEADS
    wide = keys.numpy().astype(np.float64)
    for head in report["heads"]:
        own = wide[head["layer"], head["kv_head"]]
        checked = 0
        for name, value in quantities(own).items():
            if name + "_pre" in head["metrics"]:
                checked += 1
                assert head["metrics"][name + "_pre"] == pytest.approx(value, rel=1e-5, abs=1e-6), name
        assert checked == 4
    replayed = run_ecokv("replay", tmp_path / "trace.h5", "--policy", "keydiff:geometry=pre", "--budget", 20)
    for head in replayed["heads"]:
        own = wide[head["layer"], head["kv_head"]]
        unit = own / np.linalg.norm(own, axis=1, keepdims=True)
        lowest = np.argsort(unit @ unit.mean(0), kind="stable")[:20]
        assert head["kept_tokens"] == sorted(lowest.tolist())


@pytest.mark.parametrize(("name", "values", "words"), [
    ("model/rope_axes", np.full(16, 3, np.uint8), ("rope_axes", "0, 1 or 2", "16 pairs")),
    ("model/rope_axes", np.zeros(4, np.uint8), ("rope_axes", "16 pairs")),
    ("model/rope_inverse_frequencies", np.ones(17, np.float32), ("17 entries", "at most 16")),
    ("model/rope_of_layer", np.array([0, 1], np.uint8), ("rope_of_layer", "one of 1")),
    ("prompt/rope_positions", np.zeros((TOKENS, 2), np.int32), ("rope_positions", f"[{TOKENS}, 3]")),
])
def test_a_rotation_that_cannot_be_is_refused(name: str, values: npt.NDArray[Any], words: tuple[str, ...],
                                              tmp_path: Path) -> None:
    write(tmp_path / "trace.h5", rotated("chunked", plain_keys()))
    with h5py.File(tmp_path / "trace.h5", "a") as file:
        if name in file:
            del file[name]
        file[name] = values
    done = run_program("ecokv", "replay", tmp_path / "trace.h5", "--policy", "keydiff:geometry=pre", "--budget", 20)
    assert done.returncode == 3
    assert all(word in done.stderr + done.stdout for word in words), done.stderr
