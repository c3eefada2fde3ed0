# SPDX-License-Identifier: GPL-3.0-or-later
"""Traces that people dump from their own Python: `transformers` + h5py, compared with numpy maths."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from conftest import run_ecokv, run_program
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

LAYERS, HEADS, KV_HEADS, DIM, TOKENS, ROWS = 2, 4, 2, 16, 70, 24

pytestmark = pytest.mark.oracle


def dump(path: Path, values: bool = True, rows: int = ROWS) -> None:
    """Keys and values of the cache, the last rotated queries of every layer: all a replay needs."""
    torch.manual_seed(11)
    config = LlamaConfig(hidden_size=HEADS * DIM, num_attention_heads=HEADS, num_key_value_heads=KV_HEADS,
                         num_hidden_layers=LAYERS, intermediate_size=96, vocab_size=300, rope_theta=10000.0)
    model = LlamaForCausalLM(config).eval()
    queries: list[torch.Tensor] = []

    def keep_queries(module: Any, args: Any, kwargs: Any) -> None:
        hidden = kwargs["hidden_states"] if "hidden_states" in kwargs else args[0]
        cos, sin = kwargs["position_embeddings"]
        states = module.q_proj(hidden).view(1, TOKENS, HEADS, DIM).transpose(1, 2)
        queries.append(apply_rotary_pos_emb(states, states, cos, sin)[0][0, :, -rows:])

    for layer in model.model.layers:
        layer.self_attn.register_forward_pre_hook(keep_queries, with_kwargs=True)
    with torch.no_grad():
        cache = model(torch.randint(0, 300, (1, TOKENS)), use_cache=True).past_key_values
    with h5py.File(path, "w") as file:
        keys = np.stack([layer.keys[0].numpy() for layer in cache.layers])
        file["tensors/keys"] = keys
        file["tensors/keys"].attrs["rope_theta"] = 10000.0
        file["tensors/keys"].attrs["rope_style"] = "half"
        file["tensors/window_queries"] = torch.stack(queries).detach().numpy()
        if values:
            file["tensors/values"] = np.stack([layer.values[0].numpy() for layer in cache.layers])


def attention(file: h5py.File, layer: int, window: int) -> np.ndarray:
    """softmax(q k / sqrt d) of the last `window` rows [kv_head, member * row, token] in float64."""
    keys = file["tensors/keys"][layer].astype(np.float64)
    queries = file["tensors/window_queries"][layer][:, -window:].astype(np.float64)
    queries = queries.reshape(KV_HEADS, -1, window, DIM)
    logits = np.einsum("hgwd,hnd->hgwn", queries, keys) / np.sqrt(DIM)
    positions = np.arange(TOKENS)
    logits[..., positions[None] > np.arange(TOKENS - window, TOKENS)[:, None]] = -np.inf
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)).reshape(KV_HEADS, -1, TOKENS)


def snapkv(file: h5py.File, layer: int, window: int, budget: int) -> list[np.ndarray]:
    """Survivors by the formula of ecokv.md: zero-padded average of 5, recent = window."""
    kept = []
    for weights in attention(file, layer, window):
        importance = weights.mean(0)[:TOKENS - window]
        pooled = np.convolve(importance, np.ones(5) / 5, mode="same")
        best = np.sort(np.argsort(-pooled, kind="stable")[:budget - window])
        kept.append(np.concatenate([best, np.arange(TOKENS - window, TOKENS)]))
    return kept


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("foreign") / "dumped.h5"
    dump(path)
    return path


def test_replay_of_a_python_dump_equals_numpy(foreign: Path) -> None:
    replayed = run_ecokv("replay", foreign, "--policy", "snapkv:window=8", "--budget", 20)
    with h5py.File(foreign) as file:
        for head in replayed["heads"]:
            layer, kv_head = head["layer"], head["kv_head"]
            kept = snapkv(file, layer, 8, 20)[kv_head]
            assert head["kept_tokens"] == list(kept)
            weights = attention(file, layer, 8)[kv_head]
            assert head["retained_mass"] == pytest.approx(weights[:, kept].sum(1).mean(), abs=1e-5)
            values = file["tensors/values"][layer, kv_head].astype(np.float64)
            full = weights @ values
            ours = weights[:, kept] @ values[kept] / weights[:, kept].sum(1, keepdims=True)
            error = np.linalg.norm(full - ours) / np.linalg.norm(full)
            assert head["output_error"] == pytest.approx(error, rel=1e-4)


def test_redundancy_of_a_python_dump_is_the_mean_similarity_of_its_keys(foreign: Path) -> None:
    replayed = run_ecokv("replay", foreign, "--policy", "ecokv:geometry=pre", "--budget", 20)
    recent = replayed["policy"]["recent"]
    with h5py.File(foreign) as file:
        for head in replayed["heads"]:
            keys = file["tensors/keys"][head["layer"], head["kv_head"]].astype(np.float64)[:TOKENS - recent]
            unit = keys / np.linalg.norm(keys, axis=1, keepdims=True)
            similarity = unit @ unit.T
            off_diagonal = (similarity.sum() - len(unit)) / (len(unit) * (len(unit) - 1))
            assert head["redundancy_cosine"] == pytest.approx(off_diagonal, abs=1e-6)


def test_sweep_and_diff_work_on_a_python_dump(foreign: Path) -> None:
    result = run_ecokv("sweep", foreign, "--policies", "ecokv,snapkv:window=8,keydiff,random,full", "--budgets", "12,30")
    assert len(result["rows"]) == 9
    assert all(row["refused"] is None and row["output_error"] is not None for row in result["rows"])
    diff = run_ecokv("diff", foreign, "--a", "snapkv:window=8", "--b", "snapkv:window=16", "--budget", 24)
    with h5py.File(foreign) as file:
        for head in diff["heads"]:
            a = set(snapkv(file, head["layer"], 8, 24)[head["kv_head"]])
            b = set(snapkv(file, head["layer"], 16, 24)[head["kv_head"]])
            assert head["jaccard"] == pytest.approx(len(a & b) / len(a | b))
            assert [token["token"] for token in head["only_b"]] == sorted(b - a)


def test_what_a_dump_lacks_is_said(tmp_path: Path) -> None:
    dump(tmp_path / "a.h5", values=False, rows=6)
    with h5py.File(tmp_path / "a.h5", "a") as file:
        del file["tensors/keys"].attrs["rope_theta"]
        del file["tensors/keys"].attrs["rope_style"]
    done = run_program("ecokv", "replay", tmp_path / "a.h5", "--policy", "ecokv:window=6", "--budget", 20)
    assert done.returncode == 0 and "has no /tensors/values" in done.stdout
    for policy, words in (("ecokv", ("observes 8 query rows", "recorded the last 6")),
                          ("ecokv:window=4,vnorm=on", ("no /tensors/values",)),
                          ("ecokv:window=4,geometry=pre", ("rope_theta",)),
                          ("h2o", ("observes 70 query rows", "recorded the last 6"))):
        done = run_program("ecokv", "replay", tmp_path / "a.h5", "--policy", policy, "--budget", 20)
        assert done.returncode == 2, policy
        assert all(word in done.stderr + done.stdout for word in words), done.stderr
    done = run_program("ecokv", "replay", tmp_path / "a.h5")
    assert done.returncode == 2 and "names no policy to replay" in done.stderr


def test_h2o_needs_and_uses_every_row(tmp_path: Path) -> None:
    dump(tmp_path / "a.h5", rows=TOKENS)
    replayed = run_ecokv("replay", tmp_path / "a.h5", "--policy", "h2o:pool=1,recent=4", "--budget", 20)
    with h5py.File(tmp_path / "a.h5") as file:
        for head in replayed["heads"]:
            summed = attention(file, head["layer"], TOKENS)[head["kv_head"]].sum(0)[:TOKENS - 4]
            best = np.sort(np.argsort(-summed, kind="stable")[:16])
            assert head["kept_tokens"] == [*best, *range(TOKENS - 4, TOKENS)]


def test_shapes_that_do_not_fit_are_named(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["tensors/keys"] = np.zeros((2, 2, 10, 4), np.float32)
        file["tensors/window_queries"] = np.zeros((2, 3, 4, 4), np.float32)
    done = run_program("ecokv", "replay", tmp_path / "a.h5", "--policy", "ecokv", "--budget", 4)
    assert done.returncode == 3
    assert "/tensors/window_queries" in done.stderr and "a multiple of 2" in done.stderr


def test_positions_out_of_order_are_refused(tmp_path: Path) -> None:
    """Falling positions mask every key that stands behind a row: the numbers would be of another attention."""
    path = tmp_path / "order.h5"
    dump(path)
    shuffled = np.arange(TOKENS)
    shuffled[[3, 40]] = shuffled[[40, 3]]
    for positions, code in ((-np.arange(TOKENS), 3), (shuffled, 3), (np.arange(TOKENS) - 1, 3), (np.arange(TOKENS) * 2, 0)):
        with h5py.File(path, "a") as file:
            if "tensors/positions" in file:
                del file["tensors/positions"]
            file["tensors/positions"] = positions
        done = run_program("ecokv", "replay", path, "--policy", "snapkv:window=8", "--budget", 20)
        assert done.returncode == code and ("must not fall" in done.stderr) == (code == 3), done.stderr


def test_info_says_what_a_foreign_trace_is_good_for(foreign: Path, tmp_path: Path) -> None:
    done = run_program("ecokv", "info", foreign)
    assert done.returncode == 0
    assert "foreign" in done.stdout
    for words in ("replay, sweep, diff", "windows up to 24 rows", "output error", "geometry=pre"):
        assert words in done.stdout, words
    works = {entry["what"]: entry["works"] for entry in run_ecokv("info", foreign)["abilities"]}
    assert works["replay, sweep, diff"] and works["output error"] and works["geometry=pre"]
    assert not works["text and pictures"]
    dump(tmp_path / "bare.h5", values=False)
    bare = {entry["what"]: entry for entry in run_ecokv("info", tmp_path / "bare.h5")["abilities"]}
    assert not bare["output error"]["works"] and "/tensors/values" in bare["output error"]["why"]
