# SPDX-License-Identifier: GPL-3.0-or-later
"""SmolLM2-135M-Instruct without eyes, re-saved as safetensors by our script: a real language model against transformers."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from built_demos import built_demo
from model_reference import TOLERANCE
from tiny_llava import run_probe
from transformers import AutoModelForCausalLM, AutoTokenizer

pytestmark = [pytest.mark.oracle, pytest.mark.slow]

TOKENS = 100
PROMPTS = [
    "Write a short story about a lighthouse keeper who finds a letter in a bottle.",
    "What is the difference between weather and climate?",
    "def fibonacci(n):\n    # complete this function and show three calls",
    "List ten facts about the planet Saturn, numbered 1 to 10.",
    "Übersetze ins Englische und erkläre: „Der frühe Vogel fängt den Wurm“ – 12,50 €, 日本語 🙂.",
]


@pytest.fixture(scope="session")
def folder() -> Path:
    return built_demo("smollm2")


@pytest.fixture(scope="session")
def reference(folder: Path) -> tuple[Any, Any]:
    torch.set_num_threads(1)  # as the probe: other tests run beside this one
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    return model, AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("index", range(len(PROMPTS)))
@torch.no_grad()
def test_greedy_tokens_and_logits_are_those_of_transformers(
    folder: Path, reference: tuple[Any, Any], tmp_path: Path, index: int,
) -> None:
    """Every token is the best one of transformers' logits after the tokens before it, which is what greedy means;
    one pass over the whole answer gives them all."""
    model, tokenizer = reference
    message = {"role": "user", "content": PROMPTS[index]}
    ids = tokenizer.apply_chat_template([message], add_generation_prompt=True)["input_ids"]

    run = run_probe(folder, tmp_path, text=PROMPTS[index], steps=TOKENS, threads=1)

    assert run.answer["token_ids"] == ids
    chosen = run.answer["chosen"]
    assert len(chosen) == TOKENS
    logits = model(torch.tensor([ids + chosen])).logits[0, len(ids) - 1:].numpy()
    assert chosen == logits[:-1].argmax(-1).tolist()
    assert float(np.abs(run.logits - logits).max()) <= TOLERANCE
    best, second = np.sort(logits[:-1])[:, -1], np.sort(logits[:-1])[:, -2]
    assert float((best - second).min()) > 2 * TOLERANCE, "a tie within rounding: choose another prompt"
