# SPDX-License-Identifier: GPL-3.0-or-later
"""`ecokv run --compare`: its numbers against transformers, its table, JSON, CSV and trace."""
from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from conftest import DEMO_DOCUMENTS, DEMO_MODEL, run_ecokv, run_program
from model_reference import Evictions, reference_logits
from PIL import Image
from tiny_llava import GROUPED, PictureAndWords, make_checkpoint
from transformers import AutoProcessor
from transformers.models.llama import modeling_llama

LAYERS, KV_HEADS, GROUP, DIM = 3, 2, 3, 24  # of GROUPED
PICTURE = DEMO_DOCUMENTS / "notice-board.png"
POLICIES = "snapkv:window=8,recent=4,ecokv:geometry=pre,ecokv,random:seed=3,streaming"


def log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits.astype(np.float64) - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


class Compared:
    """One comparison on a random checkpoint: the CLI's JSON and trace, and transformers with its inputs."""

    def __init__(self, folder: Path) -> None:
        self.model = make_checkpoint(folder / "model", GROUPED)
        self.model.set_attn_implementation("eager")
        trace = folder / "compared.ecokv.h5"
        result = run_ecokv("run", "--model", folder / "model", "--image", PICTURE, "--prompt", "ZXY?", "--max-new-tokens", 7,
                           "--compare", POLICIES, "--budgets", "12,40", "--trace", trace)
        self.rows: list[dict[str, Any]] = result["comparison"]
        self.forced: list[int] = result["full_token_ids"]
        processor = AutoProcessor.from_pretrained(folder / "model")
        message = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "ZXY?"}]}
        inputs = processor(images=Image.open(PICTURE), text=processor.apply_chat_template([message]), return_tensors="pt",
                           add_special_tokens=False)
        self.prompt = PictureAndWords(inputs["input_ids"][0].tolist(), inputs["pixel_values"])
        with h5py.File(trace) as file:
            assert file["prompt/token_ids"][...].tolist() == self.prompt.ids
            assert file["decode/token_ids"][...].tolist() == self.forced
            ids = {row["trace_policy"] for row in self.rows}
            assert ids == set(file["policies"])
            self.kept = {i: file[f"policies/{i}/kept"][...].astype(bool) for i in ids}
            self.measured = {i: file[f"policies/{i}/measured_error"][...] for i in ids if "measured_error" in file[f"policies/{i}"]}
            self.recorded = {i: {name: file[f"policies/{i}/decode/{name}"][...] for name in ("kl", "top1_agree", "forced_logprob")}
                             for i in ids}

    def logits(self, kept: np.ndarray) -> np.ndarray:
        """[step, vocabulary] from transformers, when rows after the prompt see only `kept` [layer, kvHead, token] of it."""
        evictions = Evictions(LAYERS, KV_HEADS, GROUP)
        tokens = len(self.prompt.ids)
        evictions.append(0, tokens)
        evictions.evict(tokens, lambda layer, head, _length: np.flatnonzero(kept[layer, head]).tolist())
        fed = self.forced[:-1]
        hooks = []
        for layer, module in enumerate(self.model.model.language_model.layers):
            mask = evictions.mask(layer, tokens + len(fed))
            hooks.append(module.register_forward_pre_hook(
                lambda _module, args, options, mask=mask: (args, options | {"attention_mask": mask}), with_kwargs=True))
        try:
            return reference_logits(self.model, self.prompt, fed)
        finally:
            for hook in hooks:
                hook.remove()


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Compared:
    return Compared(tmp_path_factory.mktemp("compare"))


@pytest.mark.oracle
def test_kl_agreement_and_perplexity_equal_transformers_with_masks(compared: Compared) -> None:
    """Stated tolerance: KL 1 % or 1e-4 nats, log-probabilities 1e-3, perplexity ratio 0.5 %, agreement exact."""
    tokens = len(compared.prompt.ids)
    full = log_softmax(compared.logits(np.ones((LAYERS, KV_HEADS, tokens), bool)))
    assert full.argmax(-1).tolist() == compared.forced
    steps = np.arange(len(compared.forced))
    kls = []
    for row in compared.rows:
        kept = log_softmax(compared.logits(compared.kept[row["trace_policy"]]))
        kl = (np.exp(full) * (full - kept)).sum(-1)
        agree = kept.argmax(-1) == full.argmax(-1)
        logprob = kept[steps, compared.forced]
        np.testing.assert_allclose(row["kl"], kl, rtol=1e-2, atol=1e-4, err_msg=row["policy"])
        np.testing.assert_allclose(row["forced_logprob"], logprob, atol=1e-3)
        assert row["top1_agree"] == agree.astype(int).tolist()
        assert row["mean_kl"] == pytest.approx(kl[1:].mean(), rel=1e-2, abs=1e-4)
        assert row["top1_agreement"] == pytest.approx(agree[1:].mean())
        lost = (full[steps, compared.forced] - logprob)[1:].mean()
        assert row["perplexity_ratio"] == pytest.approx(np.exp(lost), rel=5e-3)
        kls.append(row["mean_kl"])
    assert max(kls) > 0.05, "the evictions must matter"


@pytest.mark.oracle
def test_measured_errors_equal_those_of_transformers_attention(compared: Compared, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries, keys and values as transformers' eager attention gets them in one pass over prompt and continuation."""
    seen: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    eager = modeling_llama.eager_attention_forward

    def capture(module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *rest: Any, **options: Any) -> Any:
        seen.append(tuple(part[0].double().numpy() for part in (query, key, value)))
        return eager(module, query, key, value, *rest, **options)

    monkeypatch.setattr(modeling_llama, "eager_attention_forward", capture)
    tokens = len(compared.prompt.ids)
    compared.logits(np.ones((LAYERS, KV_HEADS, tokens), bool))
    for policy, errors in compared.measured.items():
        for layer, (query, key, value) in enumerate(seen):
            for head in range(KV_HEADS):
                rows = query[head * GROUP:(head + 1) * GROUP, tokens:]
                logits = rows @ key[head].T / np.sqrt(DIM)
                behind = np.arange(key.shape[1])[None] > np.arange(tokens, key.shape[1])[:, None]
                logits[:, behind] = -np.inf
                weights = np.exp(logits - logits.max(-1, keepdims=True))
                weights /= weights.sum(-1, keepdims=True)
                full = weights @ value[head]
                weights[..., :tokens][..., ~compared.kept[policy][layer, head]] = 0
                part = weights @ value[head] / weights.sum(-1, keepdims=True)
                expected = np.linalg.norm(full - part) / np.linalg.norm(full)
                assert errors[layer, head] == pytest.approx(expected, rel=2e-3, abs=1e-5)


@pytest.mark.oracle
def test_free_answers_equal_greedy_steps_of_transformers_with_masks(compared: Compared) -> None:
    """The first divergent token is where the masked greedy choice first leaves the full cache's."""
    for row in compared.rows:
        choices = compared.logits(compared.kept[row["trace_policy"]]).argmax(-1).tolist()
        left = next((i for i, token in enumerate(choices) if token != compared.forced[i]), None)
        divergence = row["first_divergence"]
        assert (divergence["step"] if divergence else None) == left
        if left is not None:
            assert row["token_ids"][:left + 1] == choices[:left + 1]
        else:
            assert row["token_ids"] == compared.forced


def test_the_trace_repeats_the_rows(compared: Compared) -> None:
    for row in compared.rows:
        recorded = compared.recorded[row["trace_policy"]]
        for name, values in recorded.items():
            np.testing.assert_allclose(values, row[name], rtol=1e-6)


def compare_demo(*more: object, prompt: str = "ZXY?") -> list[object]:
    return ["run", "--model", DEMO_MODEL, "--image", PICTURE, "--prompt", prompt, "--max-new-tokens", 8, *more]


def test_csv_and_json_hold_the_same_numbers(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    rows = run_ecokv(*compare_demo("--compare", "snapkv:window=8,recent=4,ecokv", "--budgets", "16,32", "--csv", table))["comparison"]
    with open(table, newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [(line["policy"], int(line["budget"])) for line in lines] == [(row["policy"], row["budget"]) for row in rows]
    assert [row["policy"] for row in rows] == ["full", *["snapkv:window=8,recent=4"] * 2, *["ecokv"] * 2, *["random"] * 2]
    for line, row in zip(lines, rows, strict=True):
        for name in ("mean_kl", "perplexity_ratio", "predicted_output_error", "measured_output_error", "kept_bytes"):
            assert float(line[name]) == pytest.approx(row[name])
        assert line["answer"] == row["answer"]


def test_people_get_a_table_and_hear_of_memory_first() -> None:
    done = run_program("ecokv", *compare_demo("--compare", "ecokv,mixkv", "--budgets", "16"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("full cache: 325\n")
    lines = done.stdout.splitlines()
    header = next(i for i, line in enumerate(lines) if line.startswith("policy"))
    assert [line.split()[0] for line in lines[header + 2:header + 6]] == ["full", "ecokv", "mixkv", "random"]
    assert "*" in done.stdout
    assert done.stderr.index("The comparison holds the full cache") < done.stderr.index("Prefill")
    assert "random was added" in done.stderr and "full was added" in done.stderr


def test_a_refused_budget_is_explained_and_the_others_run() -> None:
    """F031"""
    rows = run_ecokv(*compare_demo("--compare", "snapkv:window=32,recent=32,ecokv", "--budgets", "16,48"))["comparison"]
    refused = [row for row in rows if row["refused"]]
    assert [(row["policy"], row["budget"]) for row in refused] == [("snapkv:window=32,recent=32", 16)]
    assert "16" in refused[0]["refused"] and "32" in refused[0]["refused"]
    assert sum(row["refused"] is None for row in rows) == len(rows) - 1
    done = run_program("ecokv", *compare_demo("--compare", "snapkv:window=32,recent=32,ecokv", "--budgets", "16"))
    assert done.returncode == 0 and "refused" in done.stdout and "Raise the budget" not in done.stdout


@pytest.mark.parametrize(("arguments", "code", "words"), [
    (["--budgets", "16"], 2, ["--budgets", "--compare"]),
    (["--compare", "ecokv"], 2, ["ecokv needs a budget", "--budgets"]),
    (["--compare", "ecokv", "--budgets", "16", "--policy", "snapkv"], 2, ["--policy", "--compare"]),
    (["--compare", "ecokv,ekokv", "--budgets", "16"], 2, ["ekokv"]),
    (["--compare", "ecokv,,full", "--budgets", "16"], 2, ["empty entry"]),
    (["--compare", "ecokv", "--budgets", "16", "--temperature", "1"], 2, ["greedy"]),
    (["--compare", "ecokv", "--budgets", "16", "--csv", "weights.safetensors"], 2, [".csv"]),
    (["--compare", "ecokv", "--budgets", "16", "--csv", "no/such/folder/t.csv"], 3, ["no/such/folder"]),
])
def test_mistakes_end_with_a_sentence(arguments: list[str], code: int, words: list[str]) -> None:
    done = run_program("ecokv", *compare_demo(*arguments))
    assert done.returncode == code, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr
    assert done.stdout == ""


def test_the_run_settings_of_a_comparison_run_it_again(tmp_path: Path) -> None:
    trace = tmp_path / "t.ecokv.h5"
    run_ecokv(*compare_demo("--compare", "ecokv:window=16,vnorm=on", "--budgets", "16,24", "--trace", trace))
    with h5py.File(trace) as file:
        arguments = json.loads(file["run/arguments_json"][()])
        assert file["run"].attrs["scores_policy"] == "1"
        assert file["policies/1"].attrs["policy"] == "ecokv"
    assert [(p["scorer"], p["budget"], p.get("window"), p.get("value_norm")) for p in arguments["compare"]] == [
        ("ecokv", 16, 16, True), ("ecokv", 24, 16, True)]


def test_allocators_multiply_the_policies_and_keep_the_total() -> None:
    rows = run_ecokv(*compare_demo("--compare", "ecokv", "--budgets", "24", "--allocators", "uniform,adaptive,pyramid"))["comparison"]
    assert [row["allocator"] for row in rows[1:4]] == ["uniform", "adaptive", "pyramid"]
    kept = {row["allocator"]: np.array(row["kept_tokens"]) for row in rows[1:4]}
    assert (kept["uniform"] == 24).all()
    assert kept["adaptive"].sum() == kept["pyramid"].sum() == kept["uniform"].sum()
    assert kept["adaptive"].std(axis=1).max() > 0, "heads of a layer share their budget"
    assert kept["pyramid"].std(axis=1).max() == 0 and kept["pyramid"].mean(1).std() > 0, "layers differ, heads do not"


def test_replay_of_the_trace_predicts_what_the_comparison_printed(tmp_path: Path) -> None:
    """The column "predicted" is what `ecokv replay` computes from the trace, for every policy of it."""
    trace = tmp_path / "t.ecokv.h5"
    rows = run_ecokv(*compare_demo("--compare", "snapkv:window=8,recent=4,ecokv:geometry=pre,mixkv:window=12,keydiff,random:seed=3", "--budgets", "24",
                                   "--allocators", "uniform,adaptive", "--trace", trace))["comparison"]
    for row in rows[1:]:
        replayed = run_ecokv("replay", trace, "--policy", row["policy"], "--budget", row["budget"], "--allocator", row["allocator"])
        errors = [head["output_error"] for head in replayed["heads"]]
        assert np.mean(errors) == pytest.approx(row["predicted_output_error"], rel=1e-6), row["policy"]
        with h5py.File(trace) as file:
            kept = file[f"policies/{row['trace_policy']}/kept"][...]
        assert [head["kept_tokens"] for head in replayed["heads"]] == [np.flatnonzero(head).tolist() for layer in kept for head in layer]
