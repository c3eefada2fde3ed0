# SPDX-License-Identifier: GPL-3.0-or-later
"""How often a model folder answers right, asked through `transformers` alone.

    PYTHONPATH=scripts python -m demo_model.accuracy resources/demo-model --documents 270

Each question stands alone after its picture; an answer counts if it is right to the letter.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from transformers import LlavaForConditionalGeneration, LlavaProcessor
from transformers.utils import logging

from demo_model import documents as docs

LONGEST_ANSWER = 8  # tokens; the longest right one is "green" and </s>
MOST_LINES = 9
Score = dict[str, tuple[int, int]]  # by category: right answers, questions


class Reader:
    """A model folder with its processor, greedy, float32 on the CPU."""

    def __init__(self, folder: Path) -> None:
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        torch.set_num_threads(1)  # its matrices are too small to share: two threads take longer
        self.model = LlavaForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)
        self.model.eval()
        self.processor = LlavaProcessor.from_pretrained(folder)

    def prompt(self, question: str) -> str:
        """The prompt text, by the folder's chat template."""
        content = [{"type": "image"}, {"type": "text", "text": question}]
        text = self.processor.apply_chat_template([{"role": "user", "content": content}])
        return str(text)

    def inputs(self, pixels: npt.NDArray[np.uint8], question: str) -> dict[str, torch.Tensor]:
        """What the model is given; pixels [height, width, 3] RGB."""
        found = self.processor(
            images=Image.fromarray(pixels),
            text=self.prompt(question),
            return_tensors="pt",
            add_special_tokens=False,
        )
        return dict(found)

    @torch.no_grad()
    def answer(self, pixels: npt.NDArray[np.uint8], question: str) -> str:
        """The greedy answer to one question about one picture."""
        inputs = self.inputs(pixels, question)
        tokens = self.model.generate(**inputs, max_new_tokens=LONGEST_ANSWER)
        new = tokens[0, inputs["input_ids"].shape[1] :]
        return str(self.processor.decode(new, skip_special_tokens=True)).strip()


def category(question: docs.Question, lines: int) -> str:
    """How answers are grouped; values by the number of lines in the document."""
    if question.kind != "value":
        return question.kind
    group = "1-3" if lines <= 3 else "4-6" if lines <= 6 else "7-9"
    return f"value, {group} lines"


def fresh_questions(count: int, seed: int) -> Iterator[tuple[docs.Document, docs.Question]]:
    """`count` documents of 1 to 9 lines in turn, each with a value, an ink and a count question."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        document = docs.sample(rng, 1 + i % MOST_LINES)
        for values, inks in ((1.0, 0.0), (0.0, 1.0), (0.0, 0.0)):
            yield document, docs.ask(rng, document, values, inks)


def measure(reader: Reader, count: int, seed: int) -> Score:
    """Exact match by category over `fresh_questions`."""
    score: Score = {}
    for document, question in fresh_questions(count, seed):
        answer = reader.answer(document.pixels, question.text)
        name = category(question, len(document.lines))
        right, asked = score.get(name, (0, 0))
        score[name] = (right + (answer == question.answer), asked + 1)
    return score


def main() -> None:
    """Prints one row for each category."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=90)
    parser.add_argument("--seed", type=int, default=2026)
    args = parser.parse_args()
    for name, (right, asked) in sorted(
        measure(Reader(args.folder), args.documents, args.seed).items()
    ):
        print(f"{name:20} {right:4}/{asked:<4} {100 * right / asked:6.1f} %")


if __name__ == "__main__":
    main()
