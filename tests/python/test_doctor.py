# SPDX-License-Identifier: GPL-3.0-or-later
"""`ecokv doctor`: everything wrong with a folder and a prompt at once, without reading weights."""
from __future__ import annotations

import json
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import DEMO_DOCUMENTS, DEMO_MODEL, ROOT, run_ecokv, run_program

sys.path.insert(0, str(ROOT / "scripts"))
from sparse_checkpoint import SHAPES, decoder_tensors, make, vision_tensors  # noqa: E402

PICTURE = DEMO_DOCUMENTS / "notice-board.png"


def broken(*arguments: object) -> dict[str, Any]:
    """The report on something a run would refuse."""
    done = run_program("ecokv", "doctor", *arguments, "--json")
    assert done.returncode == 3, done.stdout + done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert not report["ok"] and f"{report['problems']} problem(s)" in done.stderr
    return report


def problems(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Text and advice of what stands in the way."""
    found = [(f["text"], f["advice"]) for f in report["findings"] if f["severity"] == "problem"]
    assert all(advice for _, advice in found), found
    return found


def copy_of_demo(tmp_path: Path) -> Path:
    """The demo model, to be damaged."""
    return Path(shutil.copytree(DEMO_MODEL, tmp_path / "model"))


def parameters(shape: str) -> int:
    """Of a sparse model, by its shapes."""
    total = 0
    for dimensions in {**vision_tensors(SHAPES[shape]), **decoder_tensors(SHAPES[shape])}.values():
        count = 1
        for dimension in dimensions:
            count *= dimension
        total += count
    return total


def test_the_demo_model_is_found_ready_with_the_numbers_of_a_run() -> None:
    """Token count, resized size and memory are those that a run then has (F073)."""
    report = run_ecokv("doctor", DEMO_MODEL, "--image", PICTURE, "--prompt", "ZXY?", "--budget", 48)
    run = run_ecokv("run", "--model", DEMO_MODEL, "--image", PICTURE, "--prompt", "ZXY?", "--budget", 48, "--max-new-tokens", 1)
    assert report["ok"] and report["family"] == "llava"
    assert report["prompt_tokens"] == run["prompt_tokens"] and report["image_tokens"] == run["image_tokens"] == 256
    (picture,) = report["pictures"]
    assert (picture["resized_width"], picture["resized_height"], picture["tokens"]) == (192, 192, 256)
    size = 4  # bytes: a small model computes in f32
    tokens = report["prompt_tokens"]
    assert report["compute_dtype"] == "float32" and report["stored_dtype"] == "bfloat16"
    memory = report["memory"]
    assert memory["kept_cache"] == 6 * 4 * 48 * 32 * 2 * size  # layers, KV heads, budget, dims
    assert memory["full_cache"] == 6 * 4 * tokens * 32 * 2 * size and memory["full_layer"] * 6 == memory["full_cache"]
    assert memory["weights"] == report["parameters"] * size and memory["total"] == memory["weights"] + memory["besides_weights"]
    labels = {(f["topic"], f["label"]): f["text"] for f in report["findings"]}
    assert labels["Text", "Tokenizer"] == "BPE, byte-level, 259 ids"
    assert labels["Text", "Chat template"].endswith("chat_template.jinja")
    assert labels["Text", "Ends at"] == "</s> (257)"
    assert labels["Device", "Runs on"].startswith("cpu: ")


def test_the_answer_takes_memory_too() -> None:
    """All but the last of its tokens are cached: 6 layers of 4 heads of 32 dims, keys and values of 4 bytes."""
    short, long = (run_ecokv("doctor", DEMO_MODEL, "--prompt", "ZXY?", "--budget", 48, "--max-new-tokens", count)["memory"]
                   for count in (1, 4001))
    assert short["answer_cache"] == 0 and long["answer_cache"] == 4000 * 6 * 4 * 32 * 2 * 4
    assert long["kept_cache"] == short["kept_cache"]
    assert long["besides_weights"] == long["kept_cache"] + long["answer_cache"] > short["besides_weights"]
    assert long["total"] == long["weights"] + long["besides_weights"]


@pytest.mark.parametrize(("stored", "said"), [("BF16", "--dtype bf16, which reads them from their files"), ("F16", "--dtype bf16, which halves them")])
def test_weights_that_do_not_fit_are_not_blamed_on_the_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: str, said: str) -> None:
    """128 layers of 7B shape are 100 GB when converted to f32; on disk they are a hole."""
    monkeypatch.setitem(SHAPES, "huge", replace(SHAPES["7b"], layers=128))
    model = make(tmp_path / "model", "huge")
    for shard in model.glob("*.safetensors"):
        with shard.open("r+b") as file:
            header = file.read(int.from_bytes(file.read(8), "little"))
            file.seek(8)
            file.write(header.replace(b'"BF16"', f'"{stored}"'.encode().ljust(6)))
    memory = (report := run_ecokv("doctor", model, "--prompt", "ZXY?", "--dtype", "f32"))["memory"]
    if memory["weights"] <= memory["available"]:
        pytest.skip("a machine with room for 100 GB")
    (found,) = (f for f in report["findings"] if f["label"] == "In all")
    assert found["severity"] == "note" and said in found["advice"] and "more memory" in found["advice"], found
    assert "budget" not in found["advice"]


@pytest.mark.parametrize(("option", "value"), [("--dtype", "f16"), ("--device", "gpu")])
def test_choices_that_do_not_exist_are_a_usage_error_as_for_a_run(option: str, value: str) -> None:
    doctor = run_program("ecokv", "doctor", DEMO_MODEL, option, value)
    run = run_program("ecokv", "run", "--model", DEMO_MODEL, "--prompt", "x", option, value)
    assert doctor.returncode == run.returncode == 2 and option in doctor.stderr, doctor.stderr


def test_people_get_a_table_that_ends_in_ok() -> None:
    """The words of the issue."""
    done = run_program("ecokv", "doctor", DEMO_MODEL)
    assert done.returncode == 0 and done.stdout.endswith("doctor OK\n")
    assert "Files\n  ok   config.json" in done.stdout


def test_all_problems_are_listed_at_once(tmp_path: Path) -> None:
    """Configuration, weights, template, tokenizer and pictures together."""
    model = copy_of_demo(tmp_path)
    (model / "config.json").write_text('{"architectures": ["BertForMaskedLM"]}')
    (model / "tokenizer.json").unlink()
    (model / "chat_template.jinja").write_text("{% for m in messages %}")
    (model / "model.safetensors").write_bytes((model / "model.safetensors").read_bytes()[:-1])
    text = "\n".join(text for text, _ in problems(broken(model, "--image", tmp_path / "none.png", "--prompt", "x")))
    for part in ("BertForMaskedLM", "missing", "cut short", "chat_template.jinja, line 1", "none.png"):
        assert part in text, part


def test_tensors_that_do_not_fit_are_named_without_reading_them(tmp_path: Path) -> None:
    """Missing and mis-shaped ones of a folder whose data is a hole."""
    model = make(tmp_path / "model", "small")
    config = json.loads((model / "config.json").read_text())
    config["text_config"]["num_hidden_layers"] = 5
    config["text_config"]["intermediate_size"] = 700
    (model / "config.json").write_text(json.dumps(config))
    ((text, advice),) = problems(broken(model))
    assert "Missing (9): model.language_model.layers.4." in text and "Of another shape (12)" in text and "wanted [700, 256]" in text
    assert "same export" in advice


@pytest.mark.parametrize(("name", "content", "said", "advice"), [
    ("model.gguf", b"GGUF", "GGUF format", "gguf_file="),
    ("pytorch_model.bin", b"PK\x03\x04", "pickle", "save_pretrained"),
    ("model.safetensors", b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer", "git lfs pull"),
    ("model-00001-of-00002.safetensors", b"", "neither model.safetensors", "model.safetensors.index.json"),
])
def test_foreign_weights_are_refused_with_a_way_out(tmp_path: Path, name: str, content: bytes, said: str, advice: str) -> None:
    """F075, F084; pickles and GGUF (F096 F097 F100 F101 F102) are never opened, whatever they hold."""
    model = copy_of_demo(tmp_path)
    (model / "model.safetensors").unlink()
    (model / name).write_bytes(content)
    found = problems(broken(model))
    assert any(said in text and advice in hint for text, hint in found), found


def test_a_quantised_model_is_refused_by_its_method(tmp_path: Path) -> None:
    """F093: packed weights are not read as plain ones."""
    model = copy_of_demo(tmp_path)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "quantization_config": {"quant_method": "gptq"}}))
    assert any('quantised ("gptq")' in text for text, _ in problems(broken(model)))


def test_what_is_no_folder_is_one_problem(tmp_path: Path) -> None:
    """A file, and a path that is not there."""
    gguf = tmp_path / "m.gguf"
    gguf.write_bytes(b"GGUF")
    assert "GGUF" in problems(broken(gguf))[0][0]
    assert "is not a folder" in problems(broken(tmp_path / "nothing"))[0][0]


def test_a_prompt_that_is_too_long_is_told_before_the_run() -> None:
    """F057."""
    found = problems(broken(DEMO_MODEL, "--prompt", "word " * 3000))
    assert any("but the model was made for 2048" in text for text, _ in found)


def test_a_7b_folder_is_examined_in_less_than_two_seconds(tmp_path: Path) -> None:
    """Its 14 GB are a hole: reading them would take longer, and memory. The best of three, for busy machines."""
    model = make(tmp_path / "model", "7b")
    seconds = []
    for _ in range(3):
        begin = time.monotonic()
        report = run_ecokv("doctor", model, "--budget", 64, "--prompt", "Hello")
        seconds.append(time.monotonic() - begin)
    assert report["ok"] and report["parameters"] == parameters("7b") > 7e9
    assert report["memory"]["weights"] >= 2 * report["parameters"]
    assert min(seconds) < 2, seconds
