# SPDX-License-Identifier: GPL-3.0-or-later
"""Decoders with sliding layers (field case F034) against transformers: Mistral, Qwen2, alternating kinds."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from conftest import DEMO_DOCUMENTS, run_ecokv, run_program
from model_reference import Evictions, assert_close, reference_logits
from tiny_llava import edit_config, load_reference, make_checkpoint, random_prompt, run_probe
from transformers import MistralConfig, Qwen2Config

pytestmark = pytest.mark.oracle

WINDOW = 8
SHAPE = {"hidden_size": 96, "intermediate_size": 160, "num_hidden_layers": 4, "num_attention_heads": 6,
         "num_key_value_heads": 2, "max_position_embeddings": 4096}
VISION = {"vision": {"hidden_act": "gelu", "num_hidden_layers": 2}, "top": {}}
KINDS = ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]
ALTERNATING = VISION | {"decoder": Qwen2Config, "text": SHAPE | {
    "use_sliding_window": True, "sliding_window": WINDOW, "layer_types": KINDS}}
LATE = VISION | {"decoder": Qwen2Config, "text": SHAPE | {
    "use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 3}}
FULL_QWEN2 = VISION | {"decoder": Qwen2Config, "text": SHAPE | {"use_sliding_window": False}}
MISTRAL = VISION | {"decoder": MistralConfig, "text": SHAPE | {"sliding_window": WINDOW, "head_dim": 24}}
FULL_MISTRAL = VISION | {"decoder": MistralConfig, "text": SHAPE | {"sliding_window": None}}
SLIDING_NOTE = "sliding, not evicted: layers 0, 2"
RECIPES = {"alternating": ALTERNATING, "late": LATE, "full qwen2": FULL_QWEN2, "mistral": MISTRAL,
           "full mistral": FULL_MISTRAL}


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("chunk", [0, 13])
def test_prefill_and_decoding_equal_transformers(tmp_path: Path, name: str, chunk: int) -> None:
    model = make_checkpoint(tmp_path / "model", RECIPES[name])
    prompt = random_prompt(64)
    forced = [7, 100, 42, 11, 12, 13, 14, 15, 16, 17]
    run = run_probe(tmp_path / "model", tmp_path, chunk=chunk, forced=forced, **prompt.request(tmp_path))
    assert_close(run, reference_logits(model, prompt, forced))


def test_the_window_matters(tmp_path: Path) -> None:
    """What transformers computes without the window is far from both, so the tests above can fail."""
    make_checkpoint(tmp_path / "model", ALTERNATING)
    prompt = random_prompt(64)
    run = run_probe(tmp_path / "model", tmp_path, **prompt.request(tmp_path))

    def widen(config: dict[str, Any]) -> None:
        config["text_config"]["sliding_window"] = 9

    edit_config(tmp_path / "model", widen)
    wider = reference_logits(load_reference(tmp_path / "model"), prompt)
    assert np.abs(run.logits - wider).max() > 0.01


def test_kinds_of_layers_follow_from_the_older_keys(tmp_path: Path) -> None:
    """Configurations older than `layer_types`: layers from max_window_layers on slide."""
    model = make_checkpoint(tmp_path / "model", LATE)
    edit_config(tmp_path / "model", lambda config: config["text_config"].pop("layer_types"))
    prompt = random_prompt(64)
    run = run_probe(tmp_path / "model", tmp_path, forced=[5, 6], **prompt.request(tmp_path))
    assert_close(run, reference_logits(model, prompt, [5, 6]))


@pytest.mark.parametrize("name", ["alternating", "mistral"])
@pytest.mark.parametrize("tokens", [1, 5, 30])
def test_extending_a_cache_keeps_the_window(tmp_path: Path, name: str, tokens: int) -> None:
    model = make_checkpoint(tmp_path / "model", RECIPES[name])
    ids = random_prompt(64, pictures=0, words=70).ids
    rows = [39, 39 + tokens, 40 + tokens]
    with torch.no_grad():
        reference = model(input_ids=torch.tensor([ids])).logits[0, rows].numpy()
    run = run_probe(tmp_path / "model", tmp_path, token_ids=ids[:40], then=[{"extend": ids[40:40 + tokens]}],
                    forced=ids[40 + tokens:41 + tokens])
    assert_close(run, reference)


def test_full_layers_may_be_evicted_beside_sliding_ones(tmp_path: Path) -> None:
    """Ragged eviction of the full layers; the sliding ones keep every row and see their window."""
    model = make_checkpoint(tmp_path / "model", ALTERNATING)
    prompt = random_prompt(64)
    tokens, question, forced = len(prompt.ids), [11, 200, 3, 77, 5, 90, 91, 8, 9, 10], [1, 2, 3]
    total = tokens + len(question) + len(forced)
    evictions = Evictions(layers=4, kv_heads=2, group=3)
    evictions.append(0, tokens)
    rng = np.random.default_rng(23)
    keep = evictions.evict(tokens, lambda layer, head, length: (
        list(range(length)) if layer % 2 == 0
        else sorted(rng.choice(length, size=12 + 9 * head + layer, replace=False).tolist())))
    evictions.apply_to(model, total, windows=[WINDOW, 0, WINDOW, 0])
    reference = reference_logits(model, prompt, question + forced)
    run = run_probe(tmp_path / "model", tmp_path, keep=keep, then=[{"extend": question}], forced=forced,
                    **prompt.request(tmp_path))
    assert_close(run, reference[[0, len(question), *range(len(question) + 1, len(question) + 4)]])


# --- a whole run ----------------------------------------------------------------------------------


def run_on_document(folder: Path, *options: object) -> dict[str, Any]:
    return run_ecokv("run", "--model", folder, "--image", DEMO_DOCUMENTS / "notice-board.png", "--prompt", "ZXY?",
                     "--max-new-tokens", 4, "--dtype", "f32", *options)


@pytest.mark.parametrize("allocator", ["uniform", "pyramid", "adaptive"])
def test_a_run_leaves_sliding_layers_whole_and_out_of_its_figures(tmp_path: Path, allocator: str) -> None:
    make_checkpoint(tmp_path / "model", ALTERNATING)
    trace = tmp_path / "run.ecokv.h5"
    result = run_on_document(tmp_path / "model", "--policy", f"ecokv:budget=24,window=8,allocator={allocator}",
                             "--trace", trace)
    tokens, ledger = result["prompt_tokens"], result["ledger"]
    kept = np.array(ledger["kept_tokens"])
    assert (kept[[0, 2]] == tokens).all()
    assert kept[[1, 3]].sum() == 4 * 24  # 2 full layers x 2 heads, exactly
    row = 2 * 16 * 4  # key and value of a token, 16 dimensions, f32
    assert ledger["layer_bytes"] == [int(layer.sum()) * row for layer in kept]
    assert ledger["kept_bytes"] == 4 * 24 * row
    assert ledger["full_bytes"] == 4 * tokens * row
    assert ledger["sliding_windows"] == [WINDOW, 0, WINDOW, 0]
    assert sum("sliding, not evicted: layers 0, 2" in note for note in result["notes"]) == 1
    with h5py.File(trace) as file:
        assert file["/model/sliding_windows"][:].tolist() == [WINDOW, 0, WINDOW, 0]
        assert "sliding, not evicted" in str(file["/policies/0"].attrs["note"])
        np.testing.assert_array_equal(file["/policies/0/kept"][:].sum(axis=-1), kept)
        assert file["/policies/0/output_error"][:][[0, 2]].max() < 1e-12
    replayed = tmp_path / "replayed.h5"
    run_ecokv("replay", trace, "--policy", f"ecokv:budget=24,window=8,allocator={allocator}", "--out", replayed)
    with h5py.File(trace) as live, h5py.File(replayed) as again:
        np.testing.assert_array_equal(again["/policies/0/kept"][:], live["/policies/0/kept"][:])


def test_every_count_of_kept_tokens_leaves_sliding_layers_out(tmp_path: Path) -> None:
    """2 full layers x 2 heads of 24 tokens: what the answer, replay, sweep and diff say agrees with the ledger."""
    make_checkpoint(tmp_path / "model", ALTERNATING)
    trace = tmp_path / "run.ecokv.h5"
    result = run_on_document(tmp_path / "model", "--policy", "ecokv:window=8", "--budget", 24, "--trace", trace)
    tokens, row = result["prompt_tokens"], 2 * 16 * 4  # key and value of a token, 16 dimensions, f32
    assert result["cache"]["tokens_per_head"] == [25, 26, 27, 28][:len(result["token_ids"])]
    assert result["cache"]["longest_head"] == result["cache"]["tokens_per_head"]
    steps = len(result["token_ids"])
    assert run_ecokv("info", trace)["policies"]["0"]["decode"] == {
        "steps": steps, "tokens_per_head_at_the_end": 24 + steps, "longest_head": 24 + steps, "evicted_keys": 0}
    replayed = run_ecokv("replay", trace)
    assert replayed["mean_kept"] == 24
    assert replayed["reproduces"] == {"policy_id": "0", "heads": 4, "heads_equal": 4}
    full = [head for head in replayed["heads"] if head["evicted"]]
    assert [(head["layer"], head["kv_head"]) for head in full] == [(1, 0), (1, 1), (3, 0), (3, 1)]
    for mean, name in (("mean_retained_mass", "retained_mass"), ("mean_output_error", "output_error")):
        assert replayed[mean] == pytest.approx(np.mean([head[name] for head in full]), rel=1e-6)
    assert replayed["mean_retained_mass"] < 0.999
    words = run_program("ecokv", "replay", trace).stdout
    assert "The same 4 survivor sets as recorded" in words and words.count("sliding, not evicted") == 2
    swept = run_ecokv("sweep", trace, "--policies", "ecokv:window=8,full", "--budgets", 24)["rows"]
    assert [(r["kept_per_head"], r["kept_bytes"]) for r in swept] == [
        (24, result["ledger"]["kept_bytes"]), (tokens, 4 * tokens * row)]
    diff = run_ecokv("diff", trace, "--a", "0", "--b", "streaming")
    heads = [head["jaccard"] for head in diff["heads"] if head["layer"] % 2]
    assert diff["mean_jaccard"] == pytest.approx(np.mean(heads), rel=1e-12) and diff["mean_jaccard"] < 1


def test_eviction_while_answering_leaves_sliding_layers_alone(tmp_path: Path) -> None:
    """The ledger says "not evicted"; so do the record of the answer and the bytes that are measured."""
    make_checkpoint(tmp_path / "model", ALTERNATING)
    trace = tmp_path / "run.ecokv.h5"
    result = run_on_document(tmp_path / "model", "--policy", "ecokv:window=8,recent=4", "--decode-budget", 24,
                             "--decode-every", 2, "--trace", trace)
    tokens, steps = result["prompt_tokens"], len(result["token_ids"])
    assert result["cache"]["tokens_per_head"] == [24 + step % 2 for step in range(steps)]
    assert result["notes"].count(SLIDING_NOTE) == 1
    with h5py.File(trace) as file:
        decode = file["policies/0/decode"]
        assert set(decode["evictions/layer"][:].tolist()) == {1, 3}
        lengths = decode["kept_length"][:]
    assert (lengths[:, [0, 2]] == tokens + 1 + np.arange(steps)[:, None, None]).all()
    row = 2 * 16 * 4
    held = (lengths - 1).sum(axis=(1, 2)) * row  # the token of the step is not stored yet
    assert (np.array(result["cache"]["bytes"]) >= held).all()
    assert result["cache"]["bytes"][0] >= sum(result["ledger"]["layer_bytes"][layer] for layer in (0, 2))


@pytest.mark.parametrize(("saved", "loaded", "notes"), [
    (["--policy", "snapkv:window=8", "--budget", 24], [], 1),
    (["--policy", "snapkv:window=8", "--budget", 24], ["--decode-budget", 24], 1),
    (["--policy", "full"], ["--policy", "snapkv:window=8", "--decode-budget", 24], 1),
    (["--policy", "full"], ["--policy", "snapkv:window=8"], 0),
])
def test_a_loaded_context_names_the_layers_that_stay_whole(tmp_path: Path, saved: list[object], loaded: list[object], notes: int) -> None:
    make_checkpoint(tmp_path / "model", ALTERNATING)
    cache = tmp_path / "context.cache.h5"
    model = ["run", "--model", tmp_path / "model", "--dtype", "f32"]
    run_ecokv(*model, "--image", DEMO_DOCUMENTS / "notice-board.png", *saved, "--save-cache", cache)
    result = run_ecokv(*model, "--load-cache", cache, "--ask", "ZXY?", "--max-new-tokens", 4, *loaded)
    assert result["notes"].count(SLIDING_NOTE) == notes, result["notes"]


def test_mean_errors_of_a_comparison_leave_sliding_layers_out(tmp_path: Path) -> None:
    """They keep every row: their zeros among the evicted heads would halve the errors of this model."""
    make_checkpoint(tmp_path / "model", ALTERNATING)
    trace = tmp_path / "compared.ecokv.h5"
    rows = run_on_document(tmp_path / "model", "--compare", "ecokv:window=8", "--budgets", 24, "--trace", trace)["comparison"]
    compressed = [row for row in rows if row["compressed"]]
    assert {row["policy"] for row in compressed} == {"ecokv:window=8", "random"}
    with h5py.File(trace) as file:
        for row in compressed:
            policy = file[f"policies/{row['trace_policy']}"]
            for name, mean in (("output_error", "predicted_output_error"), ("measured_error", "measured_output_error")):
                errors = policy[name][:].astype(np.float64)
                assert errors[[0, 2]].max() < 1e-12 and errors[[1, 3]].min() > 1e-6
                assert row[mean] == pytest.approx(errors[[1, 3]].mean(), rel=1e-6)
                assert policy.attrs[mean] == pytest.approx(row[mean], rel=1e-12)


def test_a_model_whose_layers_all_slide_is_not_compressed(tmp_path: Path) -> None:
    make_checkpoint(tmp_path / "model", MISTRAL)
    result = run_on_document(tmp_path / "model", "--policy", "snapkv", "--budget", 24, "--window", 8)
    assert not result["compressed"]
    assert any("every layer slides" in note for note in result["notes"])
    assert (np.array(result["ledger"]["kept_tokens"]) == result["prompt_tokens"]).all()
    bounded = run_on_document(tmp_path / "model", "--policy", "snapkv:window=8", "--decode-budget", 24)
    assert bounded["decode_eviction"] == "prefill-only" and bounded["cache"]["evicted_keys"] == 0
    assert any("--decode-budget evicts nothing" in note for note in bounded["notes"])
    assert bounded["cache"]["longest_head"][0] == result["prompt_tokens"] + 1  # all count where none is evicted
