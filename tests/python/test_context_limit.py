# SPDX-License-Identifier: GPL-3.0-or-later
"""Prompt and answer against max_position_embeddings: told before and after, nothing is cut."""
from __future__ import annotations

import json
import shutil
from pathlib import Path

import h5py
from conftest import DEMO_DOCUMENTS, DEMO_MODEL, run_ecokv

TOKENS = 269  # of the picture and four characters in the template
PICTURE = DEMO_DOCUMENTS / "notice-board.png"


def demo_for(tmp_path: Path, positions: int) -> Path:
    folder = tmp_path / f"demo-{positions}"
    shutil.copytree(DEMO_MODEL, folder)
    config = json.loads((folder / "config.json").read_text())
    config["text_config"]["max_position_embeddings"] = positions
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_an_answer_past_the_context_is_told_before_and_after(tmp_path: Path) -> None:
    model, trace = demo_for(tmp_path, 271), tmp_path / "run.ecokv.h5"
    options = ["--image", PICTURE, "--prompt", "ZXY?", "--policy", "full"]
    plain = run_ecokv("run", "--model", DEMO_MODEL, *options)
    result = run_ecokv("run", "--model", model, *options, "--trace", trace)
    assert result["prompt_tokens"] == TOKENS and len(result["token_ids"]) > 2
    assert result["token_ids"] == plain["token_ids"]  # not cut
    before = [note for note in result["notes"] if f"{TOKENS} tokens of prompt and up to 64" in note]
    after = [note for note in result["notes"] if "ran past the 271 positions" in note]
    assert len(before) == 1 and f"{TOKENS + 64}, but the model was made for 271" in before[0]
    assert len(after) == 1 and "from its token 2 on" in after[0]  # positions 269 and 270 are known
    with h5py.File(trace) as file:
        log = file["run/log"].asstr()[()]
    assert before[0] in log and after[0] in log
    assert not any("positions" in note for note in plain["notes"])


def test_one_that_may_pass_but_ends_before_is_told_once(tmp_path: Path) -> None:
    result = run_ecokv("run", "--model", demo_for(tmp_path, 300), "--image", PICTURE, "--prompt", "ZXY?", "--compare",
                       "ecokv", "--budgets", 48)
    assert sum("made for 300" in note for note in result["notes"]) == 1
    assert not any("ran past" in note for note in result["notes"])


def test_questions_are_told_each(tmp_path: Path) -> None:
    result = run_ecokv("run", "--model", demo_for(tmp_path, 275), "--image", PICTURE, "--budget", 48, "--ask", "ZXY?",
                       "--ask", "A?", "--max-new-tokens", 12)
    assert sum("made for 275" in note for note in result["notes"]) == 2


def test_the_doctor_tells_it_too(tmp_path: Path) -> None:
    model = demo_for(tmp_path, 300)

    def length(*options: object) -> dict[str, str]:
        report = run_ecokv("doctor", model, "--image", PICTURE, "--prompt", "ZXY?", *options)
        assert report["ok"]
        found: dict[str, str] = next(f for f in report["findings"] if (f["topic"], f["label"]) == ("Answer", "Length"))
        return found

    tight = length()
    assert tight["severity"] == "note" and f"are {TOKENS + 64}, but the model was made for 300" in tight["text"]
    assert "--max-new-tokens" in tight["advice"]
    fitting = length("--max-new-tokens", 31)
    assert fitting["severity"] == "ok" and fitting["text"] == "up to 31 tokens: 300 of 300 positions"
