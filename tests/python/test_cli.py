# SPDX-License-Identifier: GPL-3.0-or-later
"""The `ecokv` command on the demo model, as a user runs it: answers, ledger, trace, exit codes."""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from conftest import BUILD, DEMO_DOCUMENTS, DEMO_MODEL, program, run_ecokv, run_program
from tokenizers import Tokenizer

LAYERS, KV_HEADS, HEADS, DIM = 6, 4, 8, 32


def first_question(documents: list[dict[str, Any]]) -> tuple[Path, str, str]:
    document = documents[0]
    question = document["questions"][0]
    return DEMO_DOCUMENTS / document["file"], question["question"], question["answer"]


def run_arguments(documents: list[dict[str, Any]], *more: object, new_tokens: int = 8) -> list[object]:
    picture, question, _ = first_question(documents)
    return ["run", "--model", DEMO_MODEL, "--image", picture, "--prompt", question, "--max-new-tokens", new_tokens, *more]


def test_full_cache_answers_right(demo_documents: list[dict[str, Any]]) -> None:
    result = run_ecokv(*run_arguments(demo_documents, "--policy", "full"))
    assert result["answer"].strip() == first_question(demo_documents)[2]
    assert result["image_tokens"] == 256
    assert not result["compressed"]
    assert result["ledger"]["kept_bytes"] == result["ledger"]["full_bytes"]


def test_ledger_counts_what_is_stored(demo_documents: list[dict[str, Any]]) -> None:
    """F015, F038: KV heads, not query heads; bytes = 2 x layers x heads x kept x dim x size."""
    result = run_ecokv(*run_arguments(demo_documents, "--policy", "ecokv", "--budget", 48, "--dtype", "f32"))
    ledger = result["ledger"]
    assert ledger["kept_tokens"] == [[48] * KV_HEADS] * LAYERS
    assert ledger["kept_bytes"] == 2 * LAYERS * KV_HEADS * 48 * DIM * 4
    assert ledger["full_bytes"] == 2 * LAYERS * KV_HEADS * result["prompt_tokens"] * DIM * 4


def test_a_tiny_random_budget_breaks_the_answer(demo_documents: list[dict[str, Any]]) -> None:
    """The point of the demo: what the full cache reads, 16 random tokens do not."""
    wrong = 0
    for document in demo_documents[:3]:
        question = document["questions"][0]
        result = run_ecokv("run", "--model", DEMO_MODEL, "--image", DEMO_DOCUMENTS / document["file"], "--prompt",
                           question["question"], "--policy", "random", "--budget", 16, "--max-new-tokens", 8)
        wrong += result["answer"].strip() != question["answer"]
    assert wrong == 3


@pytest.mark.parametrize("policy", ["full", "random", "streaming", "snapkv", "knorm", "vnorm", "keydiff", "manifoldkv",
                                    "tova", "h2o", "rkv", "mixkv", "ecokv"])
def test_every_policy_runs_and_repeats_exactly(policy: str, demo_documents: list[dict[str, Any]]) -> None:
    arguments = run_arguments(demo_documents, "--policy", policy, "--budget", 40)
    first, second = run_ecokv(*arguments), run_ecokv(*arguments, "--threads", 1)
    assert first["token_ids"] == second["token_ids"]
    assert first["ledger"] == second["ledger"]
    kept = 40 if policy != "full" else first["prompt_tokens"]
    assert first["ledger"]["kept_tokens"] == [[kept] * KV_HEADS] * LAYERS


def head_table(folder: Path, kind: str, **changes: Any) -> Path:
    """A head table of the demo model with numbers that differ per head."""
    numbers = np.linspace(0.1, 0.9, LAYERS * KV_HEADS).reshape(LAYERS, KV_HEADS)
    table = {"format": "ecokv-head-table", "kind": kind, "model": run_ecokv("info", DEMO_MODEL)["name"],
             "layers": LAYERS, "kv_heads": KV_HEADS, "values": numbers.tolist()}
    path = folder / f"{kind}.json"
    path.write_text(json.dumps(table | changes), "utf-8")
    return path


@pytest.mark.parametrize("allocator", ["pyramid", "adaptive", "static"])
def test_allocators_share_the_budget_exactly(tmp_path: Path, demo_documents: list[dict[str, Any]],
                                             allocator: str) -> None:
    path = tmp_path / "out.ecokv.h5"
    weights = head_table(tmp_path, "weights")
    options = f"ecokv:head_weights={weights}" if allocator == "static" else "ecokv"
    result = run_ecokv(*run_arguments(demo_documents, "--policy", options, "--budget", 40, "--allocator", allocator,
                                      "--trace", path))
    kept = np.array(result["ledger"]["kept_tokens"])
    assert kept.sum() == LAYERS * KV_HEADS * 40
    assert kept.min() >= 10 and kept.max() > kept.min()  # 10 recent tokens in every head
    if allocator == "pyramid":  # 10 + 30 / 20 in the last layer, 2 x 40 - 11.5 in the first
        assert kept[0, 0] in (68, 69) and kept[-1, 0] in (11, 12)
    assert result["ledger"]["kept_bytes"] == 2 * kept.sum() * DIM * 4
    with h5py.File(path) as trace:
        assert (trace["policies/0/kept"][...].sum(-1) == kept).all()
        attributes = trace["policies/0"].attrs
        assert attributes["allocator"] == allocator
        special = {"pyramid": ("pyramid_beta", 20.0), "adaptive": ("floor", 0.2), "static": ("head_weights", "weights.json")}
        name, value = special[allocator]
        assert attributes[name] == value


def test_the_trace_says_where_redundancies_came_from(tmp_path: Path, demo_documents: list[dict[str, Any]]) -> None:
    table = head_table(tmp_path, "redundancy")
    stored = np.array(json.loads(table.read_text("utf-8"))["values"])
    path = tmp_path / "out.ecokv.h5"
    for text, source in (("measured", "measured"), ("0.25", "constant"), (f"table:{table}", "table")):
        run_ecokv(*run_arguments(demo_documents, "--policy", f"mixkv:redundancy={text}", "--budget", 40, "--trace", path))
        with h5py.File(path) as trace:
            attributes = trace["policies/0"].attrs
            assert attributes["redundancy_source"] == source
            used = trace["heads/redundancy"][...]
            if source == "constant":
                assert attributes["redundancy_constant"] == 0.25
                assert (used == 0.25).all()
            elif source == "table":
                assert attributes["redundancy_table"] == "redundancy.json"
                np.testing.assert_allclose(used, stored, rtol=1e-6)


def test_a_table_exported_from_a_run_replaces_what_the_run_measured(tmp_path: Path,
                                                                     demo_documents: list[dict[str, Any]]) -> None:
    measured, stored, table = tmp_path / "a.ecokv.h5", tmp_path / "b.ecokv.h5", tmp_path / "table.json"
    run_ecokv(*run_arguments(demo_documents, "--policy", "ecokv", "--budget", 40, "--trace", measured))
    done = run_program("ecokv", "export-table", measured, "--metric", "redundancy", "--out", table)
    assert done.returncode == 0, done.stderr
    run_ecokv(*run_arguments(demo_documents, "--policy", f"ecokv:redundancy=table:{table}", "--budget", 40, "--trace", stored))
    with h5py.File(measured) as a, h5py.File(stored) as b:
        values = np.array(json.loads(table.read_text("utf-8"))["values"])
        np.testing.assert_allclose(values, a["heads/redundancy"][...], rtol=1e-6)
        assert (a["policies/0/kept"][...] == b["policies/0/kept"][...]).all()
    done = run_program("ecokv", "export-table", measured, "--metric", "anisotropi", "--out", table)
    assert done.returncode == 2 and "anisotropy" in done.stderr


def test_tables_of_another_model_are_refused(tmp_path: Path, demo_documents: list[dict[str, Any]]) -> None:
    """F028: both shapes or both names in the sentence, exit code 3."""
    for changes, words in (({"layers": 28, "values": [[1, 1, 1, 1]] * 28}, ("28 layers x 4 KV heads", "6 x 4")),
                           ({"model": "somebody-else"}, ("somebody-else", "demo-model"))):
        table = head_table(tmp_path, "weights", **changes)
        done = run_program("ecokv", *run_arguments(demo_documents, "--budget", 40, "--allocator", "static", "--policy",
                                                   f"knorm:head_weights={table}"))
        assert done.returncode == 3
        assert all(word in done.stderr for word in (*words, str(table)))


@pytest.mark.parametrize("arguments,words", [
    (["--policy", "ecokv:budget=6", "--budget", 5], ["--budget 5", "budget=6", "contradict"]),
    (["--policy", "ecokv:ratio=0.5", "--budget", 5], ["--budget", "ratio=0.5", "contradict"]),
    (["--policy", "ecokv", "--budget", 5, "--ratio", 0.5], ["budget of 5", "ratio of 0.5"]),
    (["--budget", "99999999999999999999"], ["99999999999999999999", "64 bits"]),
    (["--budget", 5, "--seed", "18446744073709551616"], ["64 bits"]),
    (["--policy", "ecokv:budget=99999999999999999999"], ["99999999999999999999", "whole number"]),
    (["--budget", "abc"], ["--budget was given \"abc\", which is not a whole number", "Tokens kept per KV head"]),
    (["--budget", "4.5"], ["\"4.5\", which is not a whole number"]),
    (["--ratio", "half"], ["--ratio was given \"half\", which is not a number", "0 to 1"]),
    (["--compare", "ecokv", "--budgets", "0,16"], ["A budget of 0", "0, 16", "at least 1", "full"]),
    (["--compare", "ecokv", "--budgets", "16,x"], ["--budgets was given \"x\""]),
    (["--compare", "ecokv", "--budgets", "12", "--budget", 40], ["--budget and --budgets contradict", "Leave --budget out"]),
    (["--compare", "ecokv", "--budgets", "12", "--ratio", 0.5], ["--ratio and --budgets contradict"]),
    (["--compare", "ecokv:budget=9", "--allocators", "pyramid", "--allocator", "adaptive"], ["--allocator and --allocators contradict"]),
    (["--decode-budget", -3], ["A decode budget of -3 tokens", "--decode-budget at least 1"]),
    (["--budget", 5, "--seed", -1], ["--seed was given \"-1\", which is not a whole number from 0"]),
    (["--ratio", 1], ["ratio is 1", "below 1"]),
    (["--budget", 5, "--allocator", "pyramids"], ["uniform, pyramid, adaptive, static"]),
    (["--budget", 5, "--allocator", "static"], ["head_weights=FILE"]),
])
def test_settings_that_cannot_be_are_refused(arguments: list[object], words: list[str]) -> None:
    done = run_program("ecokv", "run", "--model", DEMO_MODEL, "--prompt", "x", *arguments)
    assert done.returncode == 2
    assert all(word in done.stderr for word in words), done.stderr


def test_a_sweep_takes_one_budget_or_a_list_of_them(tmp_path: Path) -> None:
    done = run_program("ecokv", "sweep", tmp_path / "unread.h5", "--policies", "ecokv", "--budgets", "12", "--budget", 40)
    assert done.returncode == 2 and "--budget and --budgets contradict" in done.stderr, done.stderr


def test_settings_said_twice_may_agree(demo_documents: list[dict[str, Any]]) -> None:
    result = run_ecokv(*run_arguments(demo_documents, "--policy", "ecokv:budget=40,window=16", "--budget", 40, "--window", 16))
    assert result["budget"] == 40


def test_policies_are_listed_with_what_they_read() -> None:
    listing = run_program("ecokv", "policies").stdout
    sections: dict[str, str] = {}
    for line in listing.splitlines():
        if line and not line.startswith(" ") and ":" not in line:
            sections[line] = ""
        elif sections:
            sections[list(sections)[-1]] += line + "\n"
    assert list(sections)[:3] == ["full", "random", "streaming"] and list(sections)[-4:] == ["uniform", "pyramid", "adaptive",
                                                                                            "static"]
    assert "  lambda" in sections["rkv"] and "  alpha" not in sections["mixkv"] and "  window" not in sections["knorm"]
    assert "cannot evict while decoding" in sections["h2o"]
    assert "  pyramid_beta" in sections["pyramid"] and "(default 0.2)" in sections["adaptive"]


def test_the_full_answer_comes_from_the_same_prefill(demo_documents: list[dict[str, Any]]) -> None:
    full = run_ecokv(*run_arguments(demo_documents, "--policy", "full"))
    both = run_ecokv(*run_arguments(demo_documents, "--policy", "random", "--budget", 16, "--with-full"))
    assert both["full_token_ids"] == full["token_ids"]
    assert both["full_answer"] == full["answer"]


def test_the_trace_holds_the_run(tmp_path: Path, demo_documents: list[dict[str, Any]]) -> None:
    path = tmp_path / "out.ecokv.h5"
    result = run_ecokv(*run_arguments(demo_documents, "--policy", "ecokv", "--budget", 48, "--trace", path))
    assert result["trace"] == str(path)
    predicted = next(float(note.split()[4]) for note in result["notes"] if note.startswith("The trace takes about"))
    assert predicted == pytest.approx(path.stat().st_size / 1e6, rel=0.1, abs=0.06)
    tokens = result["prompt_tokens"]
    with h5py.File(path) as trace:
        assert trace.attrs["complete"] == 1
        assert trace["tensors/keys"].shape == (LAYERS, KV_HEADS, tokens, DIM)
        assert trace["tensors/window_queries"].shape == (LAYERS, HEADS, 64, DIM)
        assert trace["heads/redundancy"].shape == (LAYERS, KV_HEADS)
        assert trace["scores/importance"].shape == (LAYERS, KV_HEADS, tokens)
        kept = trace["policies/0/kept"][...]
        assert kept.shape == (LAYERS, KV_HEADS, tokens)
        assert (kept.sum(-1) == 48).all()
        assert trace["policies/0"].attrs["policy"] == "ecokv"
        redundancy = trace["heads/redundancy"][...]
        assert ((redundancy > 0) & (redundancy < 1)).all()
        assert len(np.unique(redundancy)) == LAYERS * KV_HEADS
        arguments = json.loads(trace["run/arguments_json"][()])
        assert arguments["policy"]["budget"] == 48


def test_output_error_and_mass_agree_with_the_recorded_tensors(tmp_path: Path, demo_documents: list[dict[str, Any]]) -> None:
    """/policies/0/output_error and retained_mass, recomputed with numpy in float64 from keys, values and queries."""
    path = tmp_path / "out.ecokv.h5"
    run_ecokv(*run_arguments(demo_documents, "--policy", "ecokv", "--budget", 32, "--trace", path))
    with h5py.File(path) as trace:
        window, group = int(trace["policies/0"].attrs["window"]), HEADS // KV_HEADS
        for layer in (0, LAYERS - 1):
            for head in range(KV_HEADS):
                keys = trace["tensors/keys"][layer, head].astype(np.float64)
                values = trace["tensors/values"][layer, head].astype(np.float64)
                kept = trace["policies/0/kept"][layer, head].astype(bool)
                queries = trace["tensors/window_queries"][layer, head * group:(head + 1) * group, -window:].astype(np.float64)
                positions = trace["tensors/window_positions"][-window:]
                logits = queries @ keys.T / np.sqrt(DIM)
                logits[:, np.arange(len(keys))[None] > positions[:, None]] = -np.inf
                weights = np.exp(logits - logits.max(-1, keepdims=True))
                weights /= weights.sum(-1, keepdims=True)
                mass = weights[..., kept].sum(-1)
                full, part = weights @ values, weights[..., kept] @ values[kept] / mass[..., None]
                assert trace["policies/0/retained_mass"][layer, head] == pytest.approx(mass.mean(), rel=1e-4)
                error = np.linalg.norm(full - part) / np.linalg.norm(full)
                assert trace["policies/0/output_error"][layer, head] == pytest.approx(error, rel=1e-3, abs=1e-5)


def test_info_describes_a_model_and_a_trace(tmp_path: Path, demo_documents: list[dict[str, Any]]) -> None:
    model = run_ecokv("info", DEMO_MODEL)
    assert (model["layers"], model["heads"], model["kv_heads"], model["head_dim"]) == (LAYERS, HEADS, KV_HEADS, DIM)
    assert model["image_tokens_per_picture"] == 256
    path = tmp_path / "t.ecokv.h5"
    run_ecokv(*run_arguments(demo_documents, "--budget", 48, "--trace", path))
    trace = run_ecokv("info", path)
    assert trace["complete"] and trace["policies"]["0"]["budget"] == 48
    assert "/tensors/keys" in [d["path"] for d in trace["datasets"]]


@pytest.mark.parametrize(("arguments", "code", "words"), [
    (["--budget", "48", "--sink", "40", "--recent", "20"], 2, ["48", "40", "20"]),  # F031: the three numbers
    (["--budget", "48", "--policy", "ecoKV"], 2, ["ecoKV", "snapkv"]),
    (["--budget", "48", "--pool", "4"], 2, ["4", "odd"]),  # F029
    (["--policy", "ecokv"], 2, ["--budget"]),
    (["--budget", "48", "--no-such-option"], 2, ["no-such-option"]),
    (["--budget", "48", "--max-new-tokens", "0"], 2, ["0 new tokens"]),
    (["--budget", "48", "--image", "missing.png"], 3, ["missing.png"]),
    (["--budget", "48", "--image", "/"], 3, ["is a folder"]),
    (["--budget", "48", "--trace", ""], 2, ["--trace"]),
    (["--budget", "48", "--trace", "no/such/folder/t.ecokv.h5"], 3, ["no/such/folder"]),
    (["--budget", "48", "--model", "missing"], 3, ["missing"]),
])
def test_mistakes_end_with_a_sentence_and_the_documented_code(
        arguments: list[str], code: int, words: list[str], demo_documents: list[dict[str, Any]]) -> None:
    picture, question, _ = first_question(demo_documents)
    given = {"--model": str(DEMO_MODEL), "--image": str(picture), "--prompt": question}
    base = [part for pair in given.items() if pair[0] not in arguments for part in pair]
    done = run_program("ecokv", "run", *base, *arguments)
    assert done.returncode == code, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr
    assert done.stdout == ""


def test_cuda_without_a_driver_says_what_is_missing(demo_documents: list[dict[str, Any]]) -> None:
    """F161: built with, found, what to do."""
    if shutil.which("nvidia-smi"):
        pytest.skip("this machine has an NVIDIA driver")
    done = run_program("ecokv", *run_arguments(demo_documents, "--budget", 48, "--device", "cuda"))
    assert done.returncode == 3
    assert "--device cpu" in done.stderr
    report = run_program("ecokv", "devices")
    assert report.returncode == 0 and "auto uses: cpu" in report.stdout


@pytest.mark.parametrize("victim", ["picture.png", "model.safetensors"])
def test_a_trace_never_replaces_an_input(victim: str, tmp_path: Path, demo_documents: list[dict[str, Any]]) -> None:
    path = tmp_path / victim
    path.write_bytes(b"precious")
    done = run_program("ecokv", *run_arguments(demo_documents, "--budget", 48, "--trace", path))
    assert done.returncode == 3 and "is not a trace" in done.stderr
    assert path.read_bytes() == b"precious"


def test_no_command_replaces_what_it_did_not_write(tmp_path: Path, demo_documents: list[dict[str, Any]]) -> None:
    """replay --out and export-table --out once replaced weights and pictures."""
    trace = tmp_path / "t.ecokv.h5"
    run_ecokv(*run_arguments(demo_documents, "--budget", 48, "--trace", trace))
    cache = tmp_path / "c.cache.h5"
    picture = first_question(demo_documents)[0]
    page = ["run", "--model", DEMO_MODEL, "--image", picture, "--budget", 48]
    run_ecokv(*page, "--save-cache", cache)
    mine = tmp_path / "mine.h5"
    with h5py.File(mine, "w") as file:
        file["tensors/keys"] = np.zeros((1, 1, 4, 2), np.float32)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"precious")
    for victim in (cache, mine, weights):
        before = victim.read_bytes()
        for command in (["replay", trace, "--budget", 24, "--out", victim],
                        ["export-table", trace, "--out", victim],
                        run_arguments(demo_documents, "--budget", 48, "--trace", victim)):
            done = run_program("ecokv", *command)
            assert done.returncode == 3 and "left as it is" in done.stderr, done.stderr
            assert victim.read_bytes() == before
    before = trace.read_bytes()
    done = run_program("ecokv", *page, "--ask", "a", "--save-cache", trace)
    assert done.returncode == 3 and "not a saved cache" in done.stderr
    both = tmp_path / "both.csv"
    done = run_program("ecokv", *run_arguments(demo_documents, "--compare", "snapkv", "--budgets", 16, "--csv", both, "--trace", both))
    assert done.returncode == 2 and "both the trace and the table" in done.stderr and not both.exists()
    done = run_program("ecokv", "geometry", trace, "--csv", both, "--spectrum-csv", both)
    assert done.returncode == 2 and "same file" in done.stderr and not both.exists()
    table = tmp_path / "table.json"
    for _ in range(2):  # its own kind may be replaced
        assert run_program("ecokv", "export-table", trace, "--out", table).returncode == 0
        assert run_program("ecokv", "replay", trace, "--budget", 24, "--out", tmp_path / "r.ecokv.h5").returncode == 0
    assert trace.read_bytes() == before


def test_text_that_is_not_utf8_is_recorded_readably(tmp_path: Path) -> None:
    """Readers decode /prompt/text strictly; no byte of the prompt may be lost either."""
    path = tmp_path / "t.ecokv.h5"
    done = subprocess.run([str(program("ecokv")), "run", "--model", str(DEMO_MODEL), "--prompt", b"b\xff", "--policy", "full",
                           "--max-new-tokens", "2", "--trace", str(path)], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    with h5py.File(path) as trace:
        assert "b" in trace["prompt/text"].asstr()[()]
        tokens = list(trace["prompt/token_text"].asstr()[...])
    assert "b" in tokens


def test_lost_output_is_not_success() -> None:
    """A full disk behind stdout: the result did not arrive, so the exit code says so."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([str(program("ecokv")), "policies"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3 and "could not be written" in done.stderr


def test_cuda_kernels_are_built_for_both_generations_where_a_compiler_is() -> None:
    """sm_80 and sm_90 are in the library, not only in the configuration."""
    if "no CUDA kernels" in run_program("ecokv", "devices").stdout:
        assert shutil.which("nvcc") is None, "nvcc is here, but the kernels were not built"
        pytest.skip("this machine has no CUDA compiler")
    library = (BUILD / "lib" / "libecokv_kernels.so").read_bytes()
    for architecture in (b"sm_80", b"sm_90"):
        assert architecture in library, architecture


def test_commands_need_no_display(demo_documents: list[dict[str, Any]]) -> None:
    """F142"""
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    assert run_program("ecokv", "--help", env=environment).returncode == 0
    for command in ("run", "export-table", "info", "policies", "devices"):
        done = run_program("ecokv", command, "--help", env=environment)
        assert done.returncode == 0 and "Example" in done.stdout, command
    done = run_program("ecokv", *run_arguments(demo_documents, "--budget", 48), env=environment)
    assert done.returncode == 0, done.stderr


def test_short_prompts_are_not_compressed(tmp_path: Path) -> None:
    """F001, F003: a prompt not longer than the window keeps everything and says so."""
    result = run_ecokv("run", "--model", DEMO_MODEL, "--prompt", "hello", "--plain-prompt", "--policy", "ecokv",
                       "--budget", 2, "--window", 8, "--recent", 1, "--max-new-tokens", 2)
    assert result["prompt_tokens"] <= 8
    assert not result["compressed"]
    assert any("not compressed" in note for note in result["notes"])


def test_sampled_ids_the_tokenizer_lacks_are_no_text(demo_documents: list[dict[str, Any]]) -> None:
    """260 ids in the model, 259 in the tokenizer: like transformers, sample the last one and decode it to nothing."""
    tokenizer = Tokenizer.from_file(str(DEMO_MODEL / "tokenizer.json"))
    assert tokenizer.get_vocab_size() == 259
    met = 0
    for seed in range(4):
        result = run_ecokv(*run_arguments(demo_documents, "--budget", 48, "--temperature", 50, "--seed", seed, new_tokens=64))
        assert result["answer"] == tokenizer.decode(result["token_ids"], skip_special_tokens=True)
        met += result["token_ids"].count(259)
    assert met > 0, "no seed met the id this test is about"


def test_interrupting_leaves_a_readable_trace_and_exit_code_4(tmp_path: Path, demo_documents: list[dict[str, Any]]) -> None:
    """F124: Ctrl-C while decoding; what was recorded stays under its .part name. The answer of seed 3 has 1119 tokens."""
    path = tmp_path / "cut.ecokv.h5"
    part = Path(str(path) + ".part")
    arguments = run_arguments(demo_documents, "--policy", "ecokv", "--budget", 48, "--temperature", 50, "--seed", 3,
                              "--trace", path, new_tokens=1500)
    with subprocess.Popen([str(program("ecokv")), *map(str, arguments)], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if line.startswith("Answering"):
                process.send_signal(signal.SIGINT)
                break
        _, err = process.communicate(timeout=60)
    assert lines and lines[-1].startswith("Answering"), lines
    assert process.returncode == 4, err
    assert part.exists() and not path.exists()
    info = run_program("ecokv", "info", part)
    assert info.returncode == 0 and "incomplete" in info.stdout, info.stdout + info.stderr
