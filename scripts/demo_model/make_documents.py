# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws the demo documents and lists their questions and right answers.

    PYTHONPATH=scripts python -m demo_model.make_documents resources/demo-documents \
        --model resources/demo-model

With --model every listed question is asked through `transformers`, and a wrong answer is an
error: the documents were chosen so that the full cache reads them without a slip, and what goes
wrong under a budget is the eviction's doing. --search N tries N further seeds for each document
and prints those which pass.
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from demo_model import documents as docs
from demo_model.accuracy import Reader

INDEX = "documents.json"


@dataclass(frozen=True)
class Sheet:
    """One demo document: what to draw, and what it is good for."""

    file: str
    seed: int
    lines: int  # wanted; `documents.sample` leaves one out where the page is full
    note: str

    def draw(self, seed: int | None = None) -> docs.Document:
        """The document of this sheet, or of another seed."""
        rng = np.random.default_rng(self.seed if seed is None else seed)
        return docs.sample(rng, self.lines)


# The first one is what a newcomer sees on the first start.
SHEETS = (
    Sheet(
        "notice-board.png", 1282, 7, "Rich page: seven lines in all four inks among eight shapes."
    ),
    Sheet("seven-lines.png", 607, 7, "Seven lines, five of them close together."),
    Sheet("nine-lines.png", 209, 9, "Crowded: nine lines and shapes, hardest for a small budget."),
    Sheet("nine-lines-dense.png", 809, 9, "Crowded: nine lines among six shapes."),
    Sheet("eight-lines.png", 708, 8, "Crowded: eight lines, almost no shapes."),
    Sheet("six-lines.png", 406, 6, "Six lines and shapes."),
    Sheet("five-lines.png", 405, 5, "Five lines and many shapes."),
    Sheet("three-lines.png", 103, 3, "Easy: three lines and shapes."),
    Sheet("one-line.png", 101, 1, "Easiest: a single line, which survives small budgets."),
    Sheet("shapes.png", 400, 0, "Shapes alone: every question is a count."),
)


def entry(sheet: Sheet, document: docs.Document) -> dict[str, object]:
    """The record of one document in documents.json."""
    return {
        "file": sheet.file,
        "note": sheet.note,
        "lines": len(document.lines),
        "shapes": sum(document.shapes.values()),
        "questions": [
            {"kind": question.kind, "question": question.text, "answer": question.answer}
            for question in document.questions()
        ],
    }


def listing(entries: list[dict[str, object]]) -> str:
    """documents.json, with one question to a line."""
    text = json.dumps({"documents": entries}, indent=1)
    return re.sub(r"\{\s+([^{}]+?)\s+\}", lambda found: f"{{{' '.join(found[1].split())}}}", text)


def mistakes(reader: Reader, document: docs.Document) -> list[str]:
    """What the model gets wrong about a document, a line each."""
    return [
        f"{question.text} {answer!r} instead of {question.answer!r}"
        for question in document.questions()
        if (answer := reader.answer(document.pixels, question.text)) != question.answer
    ]


def search(reader: Reader, tries: int) -> None:
    """Prints, for each sheet, the seeds whose full number of lines is read without a slip."""
    for sheet in SHEETS:
        for seed in range(sheet.seed, sheet.seed + 100 * tries, 100):
            document = sheet.draw(seed)
            if len(document.lines) == sheet.lines and not mistakes(reader, document):
                print(sheet.file, "seed", seed, "shapes", document.shapes, flush=True)


def main() -> None:
    """Writes the pictures and documents.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--search", type=int, default=0, metavar="N")
    args = parser.parse_args()
    reader = Reader(args.model) if args.model else None
    if args.search and reader:
        search(reader, args.search)
        return
    args.out.mkdir(parents=True, exist_ok=True)
    entries = []
    for sheet in SHEETS:
        document = sheet.draw()
        wrong = mistakes(reader, document) if reader else []
        if wrong:
            raise SystemExit(f"{sheet.file}: {'; '.join(wrong)}")
        Image.fromarray(document.pixels).save(args.out / sheet.file, optimize=True)
        entries.append(entry(sheet, document))
    (args.out / INDEX).write_text(listing(entries) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
