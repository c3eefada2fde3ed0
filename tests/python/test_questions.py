# SPDX-License-Identifier: GPL-3.0-or-later
"""Many questions to one compressed context, saved and loaded caches, evictions while answering: as a user runs them."""
from __future__ import annotations

import resource
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from conftest import DEMO_DOCUMENTS, DEMO_MODEL, run_ecokv, run_program
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers import AutoProcessor, LlavaForConditionalGeneration

LAYERS, KV_HEADS, HEADS, DIM = 6, 4, 8, 32
PICTURE = DEMO_DOCUMENTS / "notice-board.png"
QUESTIONS = ["ZXY?", "squares?", "What is in the second line of this page?"]


def asked(*questions: str) -> list[str]:
    return [part for question in questions for part in ("--ask", question)]


def run_context(*more: object, new_tokens: int = 8) -> dict[str, Any]:
    return run_ecokv("run", "--model", DEMO_MODEL, "--image", PICTURE, "--max-new-tokens", new_tokens, *more)


def answers(result: dict[str, Any]) -> list[tuple[list[int], list[float]]]:
    return [(q["token_ids"], q["logprob"]) for q in result["questions"]]


@pytest.mark.oracle
@pytest.mark.parametrize("words", ["", "A page. "])
def test_the_full_cache_answers_as_transformers_does(words: str, tmp_path: Path) -> None:
    """Greedy on the ids of context and question one behind the other; the demo's tokens are bytes, so the ids of the
    whole text are the same ones."""
    path = tmp_path / "t.ecokv.h5"
    result = run_context("--prompt", words, *asked(*QUESTIONS), "--policy", "full", "--dtype", "f32", "--trace", path)
    model = LlavaForConditionalGeneration.from_pretrained(DEMO_MODEL, dtype=torch.float32).eval()
    processor = AutoProcessor.from_pretrained(DEMO_MODEL)
    with h5py.File(path) as trace:
        context = trace["prompt/token_ids"][...].tolist()
        recorded = [trace[f"policies/0/questions/{i}/question_ids"][...].tolist() for i in range(len(QUESTIONS))]
    for question, ours, ids in zip(QUESTIONS, result["questions"], recorded, strict=True):
        message = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": words + question}]}
        text = processor.apply_chat_template([message], add_generation_prompt=True)
        inputs = processor(images=Image.open(PICTURE), text=text, return_tensors="pt", add_special_tokens=False)
        whole = inputs["input_ids"][0].tolist()
        assert context + ids == whole and ours["question_ids"] == ids
        expected = model.generate(**inputs, max_new_tokens=8, do_sample=False)[0, len(whole):].tolist()
        assert ours["token_ids"] == expected


def test_plain_prompts_are_asked_verbatim(tmp_path: Path) -> None:
    """--plain-prompt: the context is --prompt, each question follows as it is; equal to one prompt with both."""
    context, question = "<s><image>\nQ: ", "ZXY?\nA: "
    result = run_context("--plain-prompt", "--prompt", context, *asked(question), "--policy", "full")
    whole = run_context("--plain-prompt", "--prompt", context + question, "--policy", "full")
    assert result["questions"][0]["token_ids"] == whole["token_ids"]
    assert result["prompt_tokens"] + len(question.encode()) == whole["prompt_tokens"]


@pytest.mark.parametrize("extra", [[], ["--decode-budget", "40", "--decode-every", "3"]])
def test_no_question_sees_another(extra: list[str]) -> None:
    """F009: alone, first, last or repeated, a question gets the same answer with the same probabilities."""
    options = ["--policy", "ecokv", "--budget", 48, *extra]
    first = answers(run_context(*asked(*QUESTIONS), *options))
    again = answers(run_context(*asked(*reversed(QUESTIONS), QUESTIONS[0]), *options))
    assert first == list(reversed(again[:3])) and again[3] == first[0]
    assert answers(run_context(*asked(QUESTIONS[1]), *options)) == [first[1]]


def test_the_context_is_compressed_once_without_the_questions(tmp_path: Path) -> None:
    kept = []
    for i, questions in enumerate((QUESTIONS[:1], QUESTIONS[1:])):
        path = tmp_path / f"{i}.ecokv.h5"
        result = run_context(*asked(*questions), "--policy", "ecokv", "--budget", 48, "--with-full", "--trace", path)
        assert "answer" not in result and len(result["questions"]) == len(questions)
        assert result["ledger"]["kept_tokens"] == [[48] * KV_HEADS] * LAYERS
        with h5py.File(path) as trace:
            kept.append(trace["policies/0/kept"][...])
            for q, question in enumerate(result["questions"]):
                own, full = trace[f"policies/0/questions/{q}"], trace[f"questions/{q}"]
                assert own.attrs["question"] == full.attrs["question"] == question["question"]
                assert own["token_ids"][...].tolist() == question["token_ids"]
                assert full["token_ids"][...].tolist() == question["full_token_ids"]
                assert np.allclose(own["logprob"][...], question["logprob"])
                lengths = own["kept_length"][...]
                # kept + question + generated, the step's own token counted
                steps = 48 + len(question["question_ids"]) + 1 + np.arange(len(question["token_ids"]))
                assert (lengths == steps[:, None, None]).all() and lengths.shape[1:] == (LAYERS, KV_HEADS)
            assert "decode" not in trace["policies/0"]
    assert (kept[0] == kept[1]).all()


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("allocator", ["uniform", "adaptive"])
def test_a_saved_cache_answers_as_if_it_had_stayed(dtype: str, allocator: str, tmp_path: Path) -> None:
    """Token by token and bit by bit in the probabilities, in another process and without the picture."""
    path = tmp_path / "page.cache.h5"
    policy = ["--policy", "ecokv", "--allocator", allocator, "--dtype", dtype]
    for extra in ([], ["--decode-budget", "52", "--decode-every", "2"]):
        live = run_context(*asked(*QUESTIONS), *policy, "--budget", 48, *extra, "--save-cache", path)
        assert live["saved_cache"] == str(path)
        loaded = run_ecokv("run", "--model", DEMO_MODEL, "--load-cache", path, *asked(*QUESTIONS), *policy, *extra,
                           "--max-new-tokens", 8)
        assert answers(loaded) == answers(live)
        assert loaded["ledger"] == live["ledger"]
        assert (loaded["prompt_tokens"], loaded["image_tokens"]) == (live["prompt_tokens"], 256)
    with h5py.File(path) as file:
        assert file.attrs["schema"] == "ecokv-cache"
        lengths = np.array([file[f"cache/{layer}/lengths"][...] for layer in range(LAYERS)])
        assert lengths.tolist() == live["ledger"]["kept_tokens"] and (lengths.mean(-1) == 48).all()
        assert (len(set(lengths.ravel())) > 1) == (allocator == "adaptive")
        keys = file["cache/0/keys"]
        assert keys.shape == (lengths[0].sum(), DIM) and keys.dtype == np.float32
        assert keys.id.get_type().get_size() == (2 if dtype == "bf16" else 4)
        stored = 2 * lengths.sum() * DIM * (2 if dtype == "bf16" else 4)
        assert stored == live["ledger"]["kept_bytes"]


def test_a_context_can_be_saved_before_any_question(tmp_path: Path) -> None:
    path = tmp_path / "page.cache.h5"
    saved = run_context("--policy", "snapkv", "--budget", 48, "--save-cache", path)
    assert "questions" not in saved and saved["token_ids"] == []
    told = run_program("ecokv", "run", "--model", DEMO_MODEL, "--image", PICTURE, "--budget", 48, "--save-cache", path,
                       "--policy", "snapkv").stdout
    assert "prefill" in told and "tokens/s" not in told, told
    live = run_context(*asked(QUESTIONS[0]), "--policy", "snapkv", "--budget", 48)
    loaded = run_ecokv("run", "--model", DEMO_MODEL, "--load-cache", path, *asked(QUESTIONS[0]), "--max-new-tokens", 8)
    assert answers(loaded) == answers(live)
    info = run_ecokv("info", path)
    assert info["kind"] == "saved cache" and info["policy"]["policy"] == "snapkv" and info["tokens_seen"] == 261


def test_a_saved_cache_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "page.cache.h5"
    run_context("--policy", "ecokv", "--budget", 48, "--save-cache", path, "--dtype", "f32")
    other = tmp_path / "other-model"
    shutil.copytree(DEMO_MODEL, other)
    config = other / "config.json"
    config.write_text(config.read_text("utf-8").replace('"rope_theta": 10000.0', '"rope_theta": 20000.0'), "utf-8")
    tuned = tmp_path / "tuned-model"  # same names and shapes, so the same checksums, other numbers
    shutil.copytree(DEMO_MODEL, tuned)
    tensors = load_file(tuned / "model.safetensors")
    name = next(n for n in tensors if n.endswith("layers.0.self_attn.v_proj.weight") and "language" in n)
    tensors[name] = -tensors[name]
    save_file(tensors, tuned / "model.safetensors", {"format": "pt"})
    cut = tmp_path / "cut.h5"
    cut.write_bytes(path.read_bytes()[:-1000])
    trace = tmp_path / "t.ecokv.h5"
    run_context("--prompt", "ZXY?", "--budget", 48, "--trace", trace)
    base = ["--ask", "ZXY?", "--max-new-tokens", "2"]
    for arguments, words in (
        (["--model", other, "--load-cache", path], ["demo-model", "other-model", "their files differ"]),
        (["--model", tuned, "--load-cache", path], ["tuned-model", "other weights"]),
        (["--model", DEMO_MODEL, "--load-cache", path, "--dtype", "bf16"], ["float32", "bfloat16", "--dtype f32"]),
        (["--model", DEMO_MODEL, "--load-cache", cut], ["cut.h5", "incomplete"]),
        (["--model", DEMO_MODEL, "--load-cache", trace], ["not a saved cache", "ecokv-trace"]),
        (["--model", DEMO_MODEL, "--load-cache", PICTURE], ["notice-board.png"]),
        (["--model", DEMO_MODEL, "--load-cache", tmp_path / "none.h5"], ["none.h5 does not exist"]),
    ):
        done = run_program("ecokv", "run", *arguments, *base)
        assert done.returncode == 3, done.stderr
        assert all(word in done.stderr for word in words), done.stderr


@pytest.mark.parametrize(("arguments", "words"), [
    (["--load-cache", "x.h5"], ["no question"]),
    (["--load-cache", "x.h5", "--ask", "a", "--image", str(PICTURE)], ["--image"]),
    (["--load-cache", "x.h5", "--ask", "a", "--budget", "4"], ["--budget"]),
    (["--load-cache", "x.h5", "--ask", "a", "--trace", "t.h5"], ["--trace"]),
    (["--load-cache", "x.h5", "--ask", "a", "--ratio", "0.5"], ["--ratio"]),
    (["--load-cache", "x.h5", "--ask", "a", "--prefill-chunk", "4"], ["--prefill-chunk", "too late"]),
    (["--load-cache", "", "--ask", "a"], ["--load-cache"]),
    (["--budget", "8", "--prompt", "x", "--decode-every", "4"], ["--decode-budget"]),
    (["--budget", "8", "--prompt", "x", "--decode-budget", "6", "--decode-every", str(2**63 - 1)], ["at most 1000000000"]),
    (["--budget", "8", "--prompt", "x", "--max-new-tokens", str(2**63 - 1)], ["at most 1000000000"]),
    (["--budget", "8"], ["--prompt is missing"]),
    (["--budget", "8", "--prompt", "x", "--decode-budget", "-1"], ["decode budget of -1"]),
    (["--budget", "8", "--prompt", "x", "--decode-budget", "6", "--decode-every", "0"], ["every 0 tokens"]),
    (["--prompt", "x", "--policy", "full", "--decode-budget", "8"], ["full keeps everything"]),
    (["--prompt", "x", "--policy", "h2o", "--decode-budget", "8"], ["h2o", "every row"]),
    (["--prompt", "x", "--compare", "ecokv", "--budgets", "8", "--ask", "a"], ["--ask"]),
])
def test_contradictions_end_with_a_sentence(arguments: list[str], words: list[str]) -> None:
    done = run_program("ecokv", "run", "--model", DEMO_MODEL, *arguments)
    assert done.returncode == 2, done.stderr
    assert all(word in done.stderr for word in words), done.stderr


def test_a_full_disk_is_a_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    """HDF5 crashed at exit over the file that could not be closed. A size limit stands in for the disk."""
    path = tmp_path / "page.cache.h5"
    before = b""
    for _ in range(2):  # without and with an earlier cache
        done = run_program("ecokv", "run", "--model", DEMO_MODEL, "--image", PICTURE, "--budget", 200, "--save-cache", path,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000)),
                           restore_signals=False)  # SIGXFSZ stays ignored, as Python has it
        assert done.returncode == 3 and "page.cache.h5" in done.stderr, (done.returncode, done.stderr)
        assert [p.name for p in tmp_path.iterdir()] == ([path.name] if before else [])
        assert not before or path.read_bytes() == before
        run_context("--budget", 24, "--save-cache", path)
        before = path.read_bytes()


def test_a_saved_cache_goes_on_with_its_own_policy(tmp_path: Path) -> None:
    """Said or unsaid, the policy of the file evicts while it answers; another one is refused."""
    path = tmp_path / "page.cache.h5"
    policy, bound = ["--policy", "snapkv:window=4"], ["--decode-budget", 24, "--decode-every", 2]
    live = run_context(*asked(*QUESTIONS), *policy, "--budget", 48, *bound, "--save-cache", path)
    load = ["run", "--model", DEMO_MODEL, "--load-cache", path, *asked(*QUESTIONS), "--max-new-tokens", 8]
    for said in ([], policy):
        assert answers(run_ecokv(*load, *bound, *said)) == answers(live)
    for other in (["--policy", "ecokv"], ["--policy", "snapkv"], ["--window", 8], ["--allocator", "pyramid"]):
        done = run_program("ecokv", *load, *other)
        assert done.returncode == 2 and "snapkv:budget=48,window=4" in done.stderr, done.stderr


def test_a_saved_cache_never_replaces_an_input(tmp_path: Path) -> None:
    path = tmp_path / "photo.png"
    path.write_bytes(b"precious")
    done = run_program("ecokv", "run", "--model", DEMO_MODEL, "--image", PICTURE, "--budget", 48, "--save-cache", path)
    assert done.returncode == 3 and "not a saved cache" in done.stderr
    assert path.read_bytes() == b"precious"


def test_the_text_output_shows_each_question_and_its_answer() -> None:
    done = run_program("ecokv", "run", "--model", DEMO_MODEL, "--image", PICTURE, *asked("ZXY?", "squares?"), "--policy", "full",
                       "--max-new-tokens", 8)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("question 1: ZXY?\n325\n\nquestion 2: squares?\n2\n"), done.stdout


# --- evictions while answering ----------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["ecokv", "snapkv", "mixkv", "streaming", "random", "knorm", "keydiff", "tova", "rkv"])
@pytest.mark.parametrize("allocator", ["uniform", "adaptive", "pyramid"])
def test_the_cache_stays_bounded_while_it_answers(policy: str, allocator: str, tmp_path: Path) -> None:
    """N after each eviction, N + k - 1 between two, per layer and head on average; bytes follow."""
    budget, every, steps = 40, 7, 60
    path = tmp_path / "t.ecokv.h5"
    result = run_context("--prompt", "ZXY?", "--policy", policy, "--allocator", allocator, "--budget", 48, "--decode-budget", budget,
                         "--decode-every", every, "--temperature", 50, "--seed", 3, "--dtype", "f32", "--trace", path,
                         new_tokens=steps)
    assert result["decode_eviction"] == "every 7 tokens to 40"
    with h5py.File(path) as trace:
        lengths = trace["policies/0/decode/kept_length"][...]
        evictions = {name: trace[f"policies/0/decode/evictions/{name}"][...] for name in ("step", "layer", "kv_head", "position")}
        kept = trace["policies/0/kept"][...].astype(bool)
    assert lengths.shape == (len(result["token_ids"]), LAYERS, KV_HEADS)
    mean = lengths.reshape(len(lengths), -1).mean(-1)
    due = np.arange(len(lengths)) % every == 0
    assert (mean[due] <= budget).all() and (mean <= budget + every - 1).all()
    assert max(result["cache"]["bytes"]) <= 2 * LAYERS * KV_HEADS * (budget + every) * DIM * 4
    # Replaying the record from the prompt's survivors gives the same lengths, and no token leaves twice.
    held = [[set(np.flatnonzero(kept[layer, head])) for head in range(KV_HEADS)] for layer in range(LAYERS)]
    for step in range(len(lengths)):
        for i in np.flatnonzero(evictions["step"] == step):
            held[evictions["layer"][i]][evictions["kv_head"][i]].remove(evictions["position"][i])
        for layer in range(LAYERS):
            for head in range(KV_HEADS):
                held[layer][head].add(result["prompt_tokens"] + step)
                assert len(held[layer][head]) == lengths[step, layer, head]


def test_without_a_decode_budget_the_record_shows_the_growth(tmp_path: Path) -> None:
    """F030: prompt 64, keep 16, generate 20: 36 at the end, labelled prefill-only."""
    path = tmp_path / "t.ecokv.h5"
    words = "x" * 63  # and <s>
    result = run_ecokv("run", "--model", DEMO_MODEL, "--prompt", "<s>" + words, "--plain-prompt", "--policy", "snapkv", "--window", 4,
                       "--budget", 16, "--temperature", 50, "--seed", 1, "--max-new-tokens", 20, "--trace", path)
    assert result["prompt_tokens"] == 64 and len(result["token_ids"]) == 20
    assert result["decode_eviction"] == "prefill-only"
    assert result["cache"]["tokens_per_head"] == list(range(17, 37))
    with h5py.File(path) as trace:
        lengths = trace["policies/0/decode/kept_length"][...]
        assert (lengths[:, 0, 0] == np.arange(17, 37)).all() and (lengths[-1] == 36).all()
        assert "evictions" not in trace["policies/0/decode"]
        assert trace["run"].attrs["decode_eviction"] == "prefill-only"
    info = run_ecokv("info", path)
    assert info["policies"]["0"]["decode"] == {"steps": 20, "tokens_per_head_at_the_end": 36.0, "longest_head": 36, "evicted_keys": 0}
    text = run_program("ecokv", "run", "--model", DEMO_MODEL, "--prompt", "hello", "--policy", "full", "--max-new-tokens", 4).stdout
    assert "prefill-only eviction, so the cache grows" in text


def test_evicted_template_tokens_are_named() -> None:
    """F033: a chat prompt of 12 tokens, 6 kept."""
    result = run_ecokv("run", "--model", DEMO_MODEL, "--prompt", "ab?", "--policy", "streaming", "--window", 4, "--recent", 6, "--budget", 6,
                       "--max-new-tokens", 2)
    assert result["prompt_tokens"] == 12
    note = next(n for n in result["notes"] if "chat template" in n)
    for token in ('"<s>" at 0 (24 of 24 heads)', '"\\n" at 1', '"Q" at 2', '":" at 3', '" " at 4'):
        assert token in note, note
    assert '"a"' not in note and "--sink" in note
    kept = run_ecokv("run", "--model", DEMO_MODEL, "--prompt", "ab?", "--policy", "streaming", "--window", 4, "--recent", 6, "--sink", 5,
                     "--budget", 11, "--max-new-tokens", 2)
    assert not any("chat template" in n for n in kept["notes"])


def test_a_budget_beyond_the_prompt_is_clamped_and_told() -> None:
    """F036"""
    result = run_ecokv("run", "--model", DEMO_MODEL, "--prompt", "eight", "--plain-prompt", "--policy", "ecokv", "--budget", 640,
                       "--max-new-tokens", 2)
    assert result["budget"] == result["prompt_tokens"] and not result["compressed"]
    assert any("640" in n and str(result["prompt_tokens"]) in n for n in result["notes"])


def test_an_unknown_command_is_told_which_there_are() -> None:
    done = run_program("ecokv", "bogus")
    assert done.returncode == 2 and done.stdout == ""
    for word in ('"bogus"', "run", "info", "policies", "devices"):
        assert word in done.stderr, done.stderr
