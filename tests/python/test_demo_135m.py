# SPDX-License-Identifier: GPL-3.0-or-later
"""The 135M demo, built as a user builds it: our program against transformers, and what its documents promise."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from built_demos import built_demo, last_line, start_build
from conftest import ROOT
from demo_135m import building
from model_reference import TOLERANCE
from PIL import Image
from tiny_llava import run_probe
from transformers import AutoProcessor, LlavaForConditionalGeneration

pytestmark = [pytest.mark.oracle, pytest.mark.slow]

DOCUMENTS = ROOT / "resources" / "demo-135m" / "documents.json"
STEPS = 4  # tokens of an answer: three digits and what follows


def documents() -> list[dict[str, Any]]:
    """The documents the desktop offers with this model."""
    found: list[dict[str, Any]] = json.loads(DOCUMENTS.read_text("utf-8"))["documents"]
    return found


@pytest.fixture(scope="session")
def folder() -> Path:
    return built_demo("135m")


@pytest.fixture(scope="session")
def reference(folder: Path) -> tuple[LlavaForConditionalGeneration, Any]:
    torch.set_num_threads(1)  # as the probe: other tests run beside this one
    model = LlavaForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()
    return model, AutoProcessor.from_pretrained(folder)


@pytest.mark.parametrize("index", range(5))
def test_documents_give_the_same_ids_logits_and_right_answers(
    folder: Path, reference: tuple[LlavaForConditionalGeneration, Any], tmp_path: Path, index: int,
) -> None:
    model, processor = reference
    document = documents()[index]
    question = document["questions"][0]
    picture = DOCUMENTS.parent / document["file"]
    message = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": question["question"]}]}
    text = processor.apply_chat_template([message], add_generation_prompt=True)
    inputs = processor(images=Image.open(picture), text=text, return_tensors="pt", add_special_tokens=False)
    ids = inputs["input_ids"][0].tolist()
    theirs = model.generate(**inputs, max_new_tokens=STEPS, do_sample=False, output_logits=True,
                            return_dict_in_generate=True)
    answer = theirs.sequences[0, len(ids):].tolist()

    run = run_probe(folder, tmp_path, text=question["question"], images=[str(picture)], steps=STEPS, threads=1)

    assert run.answer["token_ids"] == ids
    assert run.answer["chosen"] == answer
    difference = np.abs(run.logits[:STEPS] - torch.cat(theirs.logits).numpy())
    assert float(difference.max()) <= TOLERANCE
    assert processor.decode(answer).strip().startswith(question["answer"]), "the document promises a right answer"


def test_a_second_build_finds_the_first(folder: Path) -> None:
    before = (folder / "model.safetensors").stat().st_mtime_ns
    done = start_build("135m", "--json", "--folder", folder)
    assert done.returncode == 0
    assert last_line(done) == {"folder": str(folder), "built": False}
    assert (folder / "model.safetensors").stat().st_mtime_ns == before


def test_nothing_but_the_model_is_kept(folder: Path) -> None:
    assert not list(folder.parent.glob(".*.part-*"))
    assert not list(folder.glob("*.gguf")) and not list(folder.glob("*.whl"))
    assert building.is_built(building.DEMOS["135m"], folder)
