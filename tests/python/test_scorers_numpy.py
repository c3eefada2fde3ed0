# SPDX-License-Identifier: GPL-3.0-or-later
"""Every other scorer against its formula in numpy (float64, pairs instead of closed forms), on random tensors
and on those a run of the demo model recorded; MixKV with stored weights."""
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from policy_probe import (Array, Layer, assert_same_choice, probe, random_layer,
                          recorded_layers)
from test_policy_numpy import expected_score, pooled

pytestmark = pytest.mark.oracle

Formula = Callable[[Layer, int, slice], Array]


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> list[Layer]:
    """Isotropic, tilted and redundant heads of random numbers, then three recorded layers."""
    drawn = [random_layer(seed, 3, 2, 90, 90, 16, shift) for seed, shift in enumerate((0.0, 1.0, 6.0))]
    return drawn + recorded_layers(tmp_path_factory.mktemp("recorded"))[::2]


def keys_of(layer: Layer, head: int, span: slice) -> Array:
    return layer.keys[head, span].astype(np.float64)


def unit_keys(layer: Layer, head: int, span: slice) -> Array:
    keys = keys_of(layer, head, span)
    unit: Array = keys / np.linalg.norm(keys, axis=1, keepdims=True)
    return unit


def grouped(layer: Layer, head: int) -> slice:
    return slice(head * layer.group, (head + 1) * layer.group)


def knorm(layer: Layer, head: int, span: slice) -> Array:
    norms: Array = -np.linalg.norm(keys_of(layer, head, span), axis=1)
    return norms


def vnorm(layer: Layer, head: int, span: slice) -> Array:
    norms: Array = np.linalg.norm(layer.values[head, span].astype(np.float64), axis=1)
    return norms


def keydiff(layer: Layer, head: int, span: slice) -> Array:
    unit = unit_keys(layer, head, span)
    cosine: Array = -unit @ unit.mean(0)
    return cosine


def manifoldkv(layer: Layer, head: int, span: slice) -> Array:
    keys = keys_of(layer, head, span)
    distance: Array = np.linalg.norm(keys - keys.mean(0), axis=1)
    return distance


def tova(layer: Layer, head: int, span: slice) -> Array:
    mean: Array = layer.attention[:, -1, span].mean(0)
    return mean


def h2o(layer: Layer, head: int, span: slice) -> Array:
    total: Array = layer.attention[grouped(layer, head), :, span].sum(1).mean(0)
    return total


def rkv(layer: Layer, head: int, span: slice) -> Array:
    """lambda 0.3, window 8, max pooling over 5; the similarity from all pairs."""
    unit = unit_keys(layer, head, span)
    pairs = unit @ unit.T
    np.fill_diagonal(pairs, 0.0)
    similar = np.exp(pairs.sum(0) / (len(unit) - 1))
    attention = layer.attention[grouped(layer, head), -8:].mean((0, 1))[span]
    result: Array = 0.3 * pooled(attention, 5, "max") - 0.7 * similar / similar.sum()
    return result


CASES: list[tuple[str, Formula]] = [
    ("knorm:budget=30,recent=4,sink=2", knorm),
    ("vnorm:budget=30,recent=4,sink=2", vnorm),
    ("keydiff:budget=30,recent=4,sink=2", keydiff),
    ("manifoldkv:budget=30,recent=4,sink=2", manifoldkv),
    ("tova:budget=30,sink=2", tova),
    ("h2o:budget=30", h2o),
    ("rkv:budget=30,lambda=0.3", rkv),
]


@pytest.mark.parametrize("case", CASES, ids=[text.split(":")[0] for text, _ in CASES])
def test_scores_and_kept_sets_follow_the_formula(tmp_path: Path, layers: list[Layer],
                                                 case: tuple[str, Formula]) -> None:
    text, formula = case
    for layer in layers:
        result = probe(tmp_path, layer, text)[0]
        tokens = layer.keys.shape[1]
        span = slice(result["sink"], tokens - result["recent"])
        protected = set(range(span.start)) | set(range(span.stop, tokens))
        for head in range(layer.keys.shape[0]):
            expected = formula(layer, head, span)
            score = np.array(result["score"][head][span], dtype=np.float64)
            # fp32 against float64: some last bits of the largest number, which in redundant heads
            # (cosines near 1) are a larger part of the range.
            bits = 4e-6 * np.abs(expected).max()
            np.testing.assert_allclose(score, expected, rtol=0, atol=bits)
            whole = np.full(tokens, np.inf)
            whole[span] = expected
            share = 2 * bits / (expected.max() - expected.min())
            assert_same_choice(result["kept"][head], whole, protected, 30, tie=share)


def test_the_defaults_protect_what_the_listing_says(tmp_path: Path, layers: list[Layer]) -> None:
    results = probe(tmp_path, layers[0], "knorm:budget=30", "tova:budget=30", "h2o:budget=31", "rkv:budget=30")
    assert [r["recent"] for r in results] == [0, 1, 15, 8]
    assert [r["window"] for r in results] == [8, 1, 90, 8]


def test_mixkv_with_stored_weights_is_its_public_code(tmp_path: Path, layers: list[Layer]) -> None:
    """A table of r per layer and head in the place of what is measured; imp, d and the mix as before."""
    for number, layer in enumerate(layers):
        heads = layer.keys.shape[0]
        weights = np.linspace(0.05, 0.95, heads)
        table = tmp_path / f"table{number}.json"
        table.write_text(json.dumps({"format": "ecokv-head-table", "kind": "redundancy", "model": "probe",
                                     "layers": 1, "kv_heads": heads, "values": [weights.tolist()]}))
        result = probe(tmp_path, layer, f"mixkv:budget=40,window=16,redundancy=table:{table}")[0]
        np.testing.assert_allclose(result["redundancy"], weights, rtol=1e-6)
        span = slice(0, layer.keys.shape[1] - 16)
        for head in range(heads):
            windowed = Layer(layer.keys, layer.values, layer.queries[:, -16:])
            expected = expected_score(windowed, head, 16, span, alpha=1.0, beta=1.0, mode="avg-padded",
                                      vnorm=True, redundancy=float(weights[head]))
            score = np.array(result["score"][head][span], dtype=np.float64)
            np.testing.assert_allclose(score, expected, rtol=0, atol=3e-5 * expected.max())
