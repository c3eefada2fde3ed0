# SPDX-License-Identifier: GPL-3.0-or-later
"""Fresh documents with one question each, in two disjoint sets: one to choose on, one to confirm.

The right value follows from the drawing, so that an answer can be judged without a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from demo_model import documents as docs
from PIL import Image

SEEDS = {"choose": 7_100_000, "confirm": 7_200_000}  # no other script draws with these


@dataclass(frozen=True)
class Model:
    """A model folder and how it is asked."""

    name: str
    title: str
    folder: Path
    lines: tuple[int, ...]  # of the documents, in turn
    ask: str  # the question, with {key}
    max_new_tokens: int
    share: int  # documents, in multiples of what is asked for: small models take many


@dataclass(frozen=True)
class Question:
    """One question about a picture or, without one, a text to go on with; one right value."""

    name: str  # unique, for files
    picture: Path | None
    text: str
    value: str


def document(model: Model, which: str, index: int) -> docs.Document:
    """Document `index` of a set; every index has its own generator, so that sets can grow."""
    rng = np.random.default_rng(SEEDS[which] + index)
    return docs.sample(rng, model.lines[index % len(model.lines)])


def questions(model: Model, which: str, count: int, folder: Path) -> list[Question]:
    """Draws the pictures into `folder`; the line asked about goes through the lines in turn."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for index in range(count):
        page = document(model, which, index)
        line = page.lines[index // len(model.lines) % len(page.lines)]
        picture = folder / f"{model.name}-{which}-{index:03}.png"
        Image.fromarray(page.pixels).save(picture)
        found.append(Question(picture.stem, picture, model.ask.format(key=line.key), line.value))
    return found


def is_right(answer: str, value: str) -> bool:
    """Whether a free-running answer names the value; digits may come as separate words."""
    return answer.replace(" ", "").startswith(value)
