# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the C++ policies on tensors made here, and compares choices where they are no ties."""
from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
from conftest import DEMO_DOCUMENTS, DEMO_MODEL, run_ecokv, run_program

Array = npt.NDArray[np.float64]


@dataclass
class Layer:
    """One layer: keys, values [kvHead, token, dim], queries [head, row, dim], float32."""

    keys: npt.NDArray[np.float32]
    values: npt.NDArray[np.float32]
    queries: npt.NDArray[np.float32]

    @property
    def group(self) -> int:
        return int(self.queries.shape[0] // self.keys.shape[0])

    @cached_property
    def attention(self) -> Array:
        """softmax(q k / sqrt(dim)) of every query row, the last of them at the last token: [head, row, token]."""
        keys = np.repeat(self.keys.astype(np.float64), self.group, axis=0)
        tokens, dim = keys.shape[1:]
        rows = self.queries.shape[1]
        logits = self.queries.astype(np.float64) @ keys.transpose(0, 2, 1) / np.sqrt(dim)
        hidden = np.arange(tokens)[None, :] > np.arange(tokens - rows, tokens)[:, None]
        weights = np.exp(np.where(hidden[None], -np.inf, logits - logits.max(-1, keepdims=True)))
        result: Array = weights / weights.sum(-1, keepdims=True)
        return result


def random_layer(seed: int, kv_heads: int, group: int, tokens: int, rows: int, dim: int,
                 shift: float = 0.0) -> Layer:
    """Normal numbers; `shift` moves each head's keys one way, which makes the head redundant."""
    rng = np.random.default_rng(seed)
    keys = rng.normal(size=(kv_heads, tokens, dim)) + shift * rng.normal(size=(kv_heads, 1, dim))
    values = rng.normal(size=keys.shape) * rng.uniform(0.2, 3.0, size=(kv_heads, tokens, 1))
    queries = rng.normal(size=(kv_heads * group, rows, dim))
    return Layer(keys.astype(np.float32), values.astype(np.float32), queries.astype(np.float32))


def probe(folder: Path, layer: Layer, *policies: str, layers: int = 1) -> list[dict[str, Any]]:
    """One result per policy text, from the built ecokv_policy_probe."""
    path = folder / "layer.f32"
    parts = (layer.keys, layer.values, layer.queries)
    path.write_bytes(b"".join(np.ascontiguousarray(p, "<f4").tobytes() for p in parts))
    kv_heads, tokens, dim = layer.keys.shape
    done = run_program("ecokv_policy_probe", path, kv_heads, layer.group, tokens,
                       layer.queries.shape[1], dim, layers, *policies)
    assert done.returncode == 0, done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout)
    return results


def recorded_layers(folder: Path) -> list[Layer]:
    """The layers of a run of the demo model on its first document, every query row recorded."""
    documents = json.loads((DEMO_DOCUMENTS / "documents.json").read_text("utf-8"))["documents"]
    path = folder / "recorded.ecokv.h5"
    run_ecokv("run", "--model", DEMO_MODEL, "--image", DEMO_DOCUMENTS / documents[0]["file"],
              "--prompt", documents[0]["questions"][0]["question"], "--policy", "full",
              "--max-new-tokens", 1, "--record-window", 4096, "--trace", path)
    with h5py.File(path) as trace:
        tensors = trace["tensors"]
        return [Layer(*(tensors[name][layer].astype(np.float32)
                        for name in ("keys", "values", "window_queries")))
                for layer in range(tensors["keys"].shape[0])]


def assert_same_choice(kept: list[int], score: Array, protected: set[int], budget: int,
                       tie: float = 1e-6) -> None:
    """`kept` holds the protected tokens and the best others by `score` [token]; tokens whose score
    equals the border within the share `tie` of the range may be exchanged."""
    assert len(kept) == budget and sorted(set(kept)) == kept
    assert protected <= set(kept)
    candidates = [t for t in range(len(score)) if t not in protected]
    order = sorted(candidates, key=lambda t: (-score[t], t))
    expected = set(order[:budget - len(protected)])
    if not expected or len(expected) == len(candidates):
        assert set(kept) - protected == expected
        return
    border = score[order[len(expected) - 1]]
    tolerance = tie * (score[order[0]] - score[order[-1]])
    for token in expected ^ (set(kept) - protected):
        assert abs(score[token] - border) <= tolerance, f"token {token} is no tie of the border"
