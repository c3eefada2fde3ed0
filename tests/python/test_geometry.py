# SPDX-License-Identifier: GPL-3.0-or-later
"""The geometry of heads against numpy in float64: what a run records under /heads."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
import pytest
from conftest import DEMO_DOCUMENTS, DEMO_MODEL, run_ecokv

pytestmark = pytest.mark.oracle

Array = npt.NDArray[np.float64]
IMAGE = 2


def unrotated(keys: Array, positions: Array, frequencies: Array) -> Array:
    """R(-p) k of pairs (i, i + dim/2); the angle is a float32 product, as models compute it."""
    angles = (positions.astype(np.float32)[:, None] * frequencies.astype(np.float32)[None]).astype(np.float64)
    cosine, sine = np.cos(angles), np.sin(angles)
    first, second = np.split(keys, 2, axis=-1)
    return np.concatenate([first * cosine + second * sine, second * cosine - first * sine], -1)


def spectrum(keys: Array) -> Array:
    return np.linalg.eigvalsh(np.cov(keys.T, bias=True))[::-1]


def quantities(keys: Array) -> dict[str, float]:
    """From all pairs and from the eigenvalues, not from closed forms."""
    norms = np.linalg.norm(keys, axis=1)
    unit = keys / norms[:, None]
    off = ~np.eye(len(keys), dtype=bool)
    squared = (norms**2)[:, None] + (norms**2)[None] - 2 * keys @ keys.T
    values = spectrum(keys)
    return {
        "redundancy_cosine": (unit @ unit.T)[off].mean(),
        "redundancy_euclid": 1 - squared[off].mean() / (2 * (norms**2).mean()),
        "anisotropy": float(np.linalg.norm(unit.mean(0))),
        "participation_ratio": values.sum() ** 2 / (values**2).sum(),
        "mean_key_norm": norms.mean(),
    }


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, demo_documents: list[dict[str, Any]]) -> Path:
    path = tmp_path_factory.mktemp("geometry") / "run.ecokv.h5"
    document = demo_documents[0]
    run_ecokv("run", "--model", DEMO_MODEL, "--image", DEMO_DOCUMENTS / document["file"], "--prompt",
              document["questions"][0]["question"], "--budget", 48, "--max-new-tokens", 2, "--trace", path)
    return path


def test_recorded_metrics_are_those_of_the_recorded_keys(recorded: Path) -> None:
    """Every metric within 1e-5 of numpy: sums of 32 rows are fp32, all above is fp64."""
    with h5py.File(recorded) as trace:
        recent = int(trace["policies/0"].attrs["recent"])
        layers, kv_heads, tokens, dim = trace["tensors/keys"].shape
        candidates = np.arange(tokens) < tokens - recent
        kinds = trace["prompt/token_kind"][...]
        sets = {"": candidates, "_image": kinds == IMAGE, "_text": kinds != IMAGE}
        frequencies = trace["model/rope_inverse_frequencies"][...]
        checked = set()
        for layer in range(layers):
            for head in range(kv_heads):
                post = trace["tensors/keys"][layer, head].astype(np.float64)
                pre = unrotated(post, np.arange(tokens), frequencies)
                for ending, keys in (("", post), ("_pre", pre)):
                    for subset, chosen in sets.items():
                        for name, value in quantities(keys[chosen]).items():
                            path = f"heads/{name}{ending}{subset}"
                            if path in trace:
                                checked.add(path)
                                assert trace[path][layer, head] == pytest.approx(value, rel=1e-5, abs=1e-6), path
                    values = spectrum(keys[candidates])
                    stored = trace[f"heads/spectrum{ending}"][layer, head]
                    np.testing.assert_allclose(stored, values, rtol=1e-5, atol=1e-6 * values[0])
        assert len(checked) == 27
        assert trace["heads/spectrum"].attrs["axes"].tolist() == ["layer", "kv_head", "component"]
        assert dim == trace["heads/spectrum"].shape[-1]


def test_a_run_without_geometry_records_what_traces_always_held(tmp_path: Path) -> None:
    path = tmp_path / "t.ecokv.h5"
    run_ecokv("run", "--model", DEMO_MODEL, "--prompt", "hello, what is this?", "--policy", "full",
              "--max-new-tokens", 2, "--no-geometry", "--trace", path)
    with h5py.File(path) as trace:
        names = set(trace["heads"]) - {"layer", "kv_head"}
        assert names == {"anisotropy", "mean_key_norm", "participation_ratio", "redundancy",
                         "redundancy_cosine", "redundancy_euclid"}
        assert np.isfinite(trace["heads/participation_ratio"][...]).all()


def test_a_prompt_without_pictures_has_no_image_metrics(tmp_path: Path) -> None:
    path = tmp_path / "t.ecokv.h5"
    run_ecokv("run", "--model", DEMO_MODEL, "--prompt", "hello, what is this?", "--policy", "full",
              "--max-new-tokens", 2, "--trace", path)
    with h5py.File(path) as trace:
        assert "anisotropy_pre" in trace["heads"]
        assert not [name for name in trace["heads"] if name.endswith(("_image", "_text"))]
