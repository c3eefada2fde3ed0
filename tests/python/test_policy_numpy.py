# SPDX-License-Identifier: GPL-3.0-or-later
"""mixkv, ecokv and random against the definition ecokv-1 written down once more in numpy (float64, pairwise
sums instead of closed forms)."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from policy_probe import Array, Layer, assert_same_choice, probe, random_layer

pytestmark = pytest.mark.oracle


def window_attention(layer: Layer, head: int, window: int) -> Array:
    keys = layer.keys[head].astype(np.float64)
    tokens, dim = keys.shape
    rows = layer.queries[head * layer.group:(head + 1) * layer.group, -window:].astype(np.float64)
    logits = rows @ keys.T / np.sqrt(dim)
    visible = np.arange(tokens)[None, :] <= np.arange(tokens - window, tokens)[:, None]
    logits = np.where(visible[None], logits, -np.inf)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    mean: Array = (weights / weights.sum(-1, keepdims=True)).mean((0, 1))
    return mean


def pooled(attention: Array, width: int, mode: str) -> Array:
    result = np.empty_like(attention)
    for i in range(len(attention)):
        near = attention[max(0, i - width // 2):i + width // 2 + 1]
        divisor = width if mode == "avg-padded" else len(near)
        result[i] = near.max() if mode == "max" else near.sum() / divisor
    return result


def minmax(numbers: Array) -> Array:
    scaled: Array = (numbers - numbers.min()) / (numbers.max() - numbers.min())
    return scaled


def redundancies(keys: Array) -> tuple[float, float]:
    """From the pairs, not from the closed forms."""
    unit = keys / np.linalg.norm(keys, axis=1, keepdims=True)
    off = ~np.eye(len(keys), dtype=bool)
    cosine = (unit @ unit.T)[off].mean()
    squared = ((keys[:, None] - keys[None]) ** 2).sum(-1)[off].mean()
    return float(cosine), float(1 - squared / (2 * (keys**2).sum(1).mean()))


def expected_score(layer: Layer, head: int, window: int, span: slice, *, alpha: float, beta: float,
                   mode: str, vnorm: bool, width: int = 5, redundancy: float | None = None) -> Array:
    """`s` of the candidates `span`; `redundancy` in the place of the measured one."""
    keys = layer.keys[head, span].astype(np.float64)
    importance = pooled(window_attention(layer, head, window)[span], width, mode)
    if vnorm:
        norms = minmax(np.linalg.norm(layer.values[head, span].astype(np.float64), axis=1))
        importance = importance + norms * importance.mean() / norms.mean()
    unit = keys / np.linalg.norm(keys, axis=1, keepdims=True)
    d_cos = minmax(-(unit @ unit.mean(0)))
    d_euc = minmax(np.linalg.norm(keys - keys.mean(0), axis=1))
    d = alpha * d_cos + (1 - alpha) * d_euc
    r_cos, r_euc = redundancies(keys)
    measured = float(np.clip(beta * r_cos + (1 - beta) * r_euc, 0, 1))
    r = measured if redundancy is None else redundancy
    result: Array = (1 - r) * importance + r * d * importance.mean() / d.mean()
    return result


Case = tuple[str, int, int, int, float, float | None, str, bool]
CASES: list[Case] = [
    # policy text, window, recent, sink, alpha, beta, pooling, vnorm
    ("mixkv:budget=40", 32, 32, 0, 1.0, 1.0, "avg-padded", True),
    ("mixkv:budget=24", 12, 12, 0, 1.0, 1.0, "avg-padded", True),
    ("mixkv:budget=30,window=8,sink=2", 8, 8, 2, 1.0, 1.0, "avg-padded", True),
    ("ecokv:budget=24", 8, 6, 0, 0.5, 0.5, "avg", False),
    ("ecokv:budget=40,window=16,recent=4,sink=3,alpha=0.2,beta=0.9,vnorm=on", 16, 4, 3, 0.2, 0.9,
     "avg", True),
    ("ecokv:budget=24,alpha=1,beta=0,pool_mode=max", 8, 6, 0, 1.0, 0.0, "max", False),
    ("ecokv:budget=24,pool=31", 8, 6, 0, 0.5, 0.5, "avg", False),
    ("ecokv:budget=24,pool=31,pool_mode=max", 8, 6, 0, 0.5, 0.5, "max", False),
    ("mixkv:budget=40,pool=13", 32, 32, 0, 1.0, 1.0, "avg-padded", True),
    ("snapkv:budget=40,pool=31", 32, 32, 0, 0.0, None, "avg-padded", False),
    ("snapkv:budget=40", 32, 32, 0, 0.0, None, "avg-padded", False),
]


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
@pytest.mark.parametrize("shift", [0.0, 1.0, 6.0], ids=["isotropic", "tilted", "redundant"])
def test_scores_and_kept_sets_follow_the_definition(tmp_path: Path, case: Case, shift: float) -> None:
    text, window, recent, sink, alpha, beta, mode, vnorm = case
    layer = random_layer(seed=int(shift) + window, kv_heads=3, group=2, tokens=97, rows=32, dim=24,
                         shift=shift)
    result = probe(tmp_path, layer, text)[0]
    assert (result["window"], result["recent"], result["sink"]) == (window, recent, sink)
    span = slice(sink, 97 - recent)
    width = int(text.split("pool=")[1].split(",")[0]) if "pool=" in text else 5
    # Cosines near 1 are fp32 and minmax stretches them: in the redundant heads here they spread over
    # 0.015, so one last bit (6e-8) is 4e-6 of the diversity. A few such bits are allowed.
    tolerance = 3e-5 if shift > 5 else 1e-5
    for head in range(3):
        if beta is None:  # snapkv: r = 0
            expected = pooled(window_attention(layer, head, window)[span], width, mode)
        else:
            expected = expected_score(layer, head, window, span, alpha=alpha, beta=beta, mode=mode,
                                      vnorm=vnorm, width=width)
        score = np.array([np.nan if s is None else s for s in result["score"][head]])
        np.testing.assert_allclose(score[span], expected, rtol=0, atol=tolerance * expected.max())
        assert np.isnan(score[:sink]).all() and np.isnan(score[97 - recent:]).all()
        whole = np.full(97, np.inf)
        whole[span] = expected
        protected = set(range(sink)) | set(range(97 - recent, 97))
        budget = int(text.split("budget=")[1].split(",")[0])
        assert_same_choice(result["kept"][head], whole, protected, budget, tie=tolerance)


@pytest.mark.parametrize("shift", [0.0, 1.0, 6.0])
def test_head_statistics_equal_those_of_all_pairs_and_of_the_spectrum(tmp_path: Path, shift: float) -> None:
    layer = random_layer(seed=5, kv_heads=2, group=1, tokens=80, rows=8, dim=16, shift=shift)
    result = probe(tmp_path, layer, "ecokv:budget=20,recent=10")[0]
    for head in range(2):
        keys = layer.keys[head, :70].astype(np.float64)
        r_cos, r_euc = redundancies(keys)
        assert result["redundancy_cosine"][head] == pytest.approx(r_cos, abs=1e-6)
        assert result["redundancy_euclid"][head] == pytest.approx(r_euc, abs=1e-6)
        spectrum = np.linalg.eigvalsh(np.cov(keys.T))
        ratio = spectrum.sum() ** 2 / (spectrum**2).sum()
        assert result["participation_ratio"][head] == pytest.approx(ratio, rel=1e-4)


def mix(state: int) -> int:
    """SplitMix64."""
    mask = (1 << 64) - 1
    state = (state + 0x9E3779B97F4A7C15) & mask
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    return state ^ (state >> 31)


def test_random_is_a_portable_function_of_seed_head_and_position(tmp_path: Path) -> None:
    assert mix(0) == 0xE220A8397B1DCDAF  # the generator's published first output
    layer = random_layer(seed=1, kv_heads=3, group=1, tokens=50, rows=8, dim=8)
    result = probe(tmp_path, layer, "random:budget=9,seed=123456789012345,sink=2")[0]
    for head in range(3):
        stream = mix(mix(mix(123456789012345) ^ 0) ^ head)
        expected = np.array([(mix(stream ^ token) >> 40) / 2**24 for token in range(50)])
        np.testing.assert_array_equal(np.array(result["score"][head][2:]), expected[2:])
        assert_same_choice(result["kept"][head], expected, {0, 1}, 9)
