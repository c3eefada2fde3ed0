# SPDX-License-Identifier: GPL-3.0-or-later
"""Batches of documents with conversations about them, and what every read-out should say.

A conversation is "\\nQ: question\\nA: answer</s>" several times over; only answers are learned.
All targets are int64, with IGNORE where nothing is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from demo_model import documents as docs
from demo_model.architecture import BOS, EOS, GRID, N_IMAGE, N_TEXT, PATCH, PATCH_SIZE

IGNORE = -100
N_ANSWER = 40  # answer tokens of one conversation, so that every batch has one shape
TRIES = 4  # for a question that was not asked before
PROMPT_OPENING = len("\nQ: ")


class Mix(NamedTuple):
    """How often values and inks are asked for; the rest are counts."""

    values: float
    inks: float


@dataclass
class Batch:
    """`b` documents with a conversation each."""

    patches: Tensor  # [b, N_IMAGE, PATCH_SIZE] float32
    tokens: Tensor  # [b, 1 + N_TEXT], <s> first
    index: Tensor  # [b * N_ANSWER] into the flattened [b * N_TEXT]: where an answer token is next
    answer: Tensor  # [b * N_ANSWER] that token
    characters: Tensor  # [b, N_IMAGE], as in Document.labels
    patch_inks: Tensor  # [b, N_IMAGE]
    keys: Tensor  # [b, N_IMAGE + N_TEXT, KEY_LENGTH] letters of the line a position is about
    line_inks: Tensor  # [b, N_TEXT] ink of that line
    kinds: list[str]  # Question.kind of each question, in order


@dataclass
class _Conversation:
    """The text of one document, as it grows; arrays are over text positions."""

    tokens: docs.IntArray = field(default_factory=lambda: np.full(N_TEXT, EOS, np.int64))
    keys: docs.IntArray = field(
        default_factory=lambda: np.full((N_TEXT, docs.KEY_LENGTH), IGNORE, np.int64)
    )
    line_inks: docs.IntArray = field(default_factory=lambda: np.full(N_TEXT, IGNORE, np.int64))
    index: list[int] = field(default_factory=list)
    answer: list[int] = field(default_factory=list)
    length: int = 0

    def add(self, document: docs.Document, question: docs.Question) -> bool:
        """Appends a question and its answer, or says that they do not fit."""
        prompt = list(f"\nQ: {question.text}\nA: ".encode())
        reply = [*question.answer.encode(), EOS]
        start = self.length + len(prompt)
        end = start + len(reply)
        if end > N_TEXT or len(self.answer) + len(reply) > N_ANSWER:
            return False
        self.tokens[self.length : end] = prompt + reply
        self.index += range(start - 1, end - 1)
        self.answer += reply
        if question.line >= 0:
            # From the key's last letter to the answer's last character.
            known = slice(self.length + PROMPT_OPENING + docs.KEY_LENGTH - 1, end - 1)
            line = document.lines[question.line]
            self.keys[known] = letter_numbers(line.key)
            self.line_inks[known] = docs.INK_NAMES.index(line.ink)
        self.length = end
        return True


def letter_numbers(key: str) -> list[int]:
    """Indices into docs.LETTERS."""
    return [docs.LETTERS.index(letter) for letter in key]


def image_keys(document: docs.Document) -> docs.IntArray:
    """[N_IMAGE, KEY_LENGTH]: cells from a key's last letter to the line's end know the key."""
    owners = document.owners
    known = owners >= 0
    for back in range(1, docs.KEY_LENGTH):
        known[back:] &= owners[back:] == owners[:-back]
        known[:back] = False
    keys = np.full((N_IMAGE, docs.KEY_LENGTH), IGNORE, np.int64)
    if document.lines:
        letters = np.array([letter_numbers(line.key) for line in document.lines])
        keys[known] = letters[owners[known]]
    return keys


def to_patches(pixels: npt.NDArray[np.uint8]) -> Tensor:
    """[b, SIDE, SIDE, 3] RGB -> [b, N_IMAGE, PATCH_SIZE] in -1..1, in a convolution's order."""
    x = torch.from_numpy(pixels).float().div_(255).sub_(0.5).div_(0.5)
    x = x.view(-1, GRID, PATCH, GRID, PATCH, 3).permute(0, 1, 3, 5, 2, 4)
    return x.reshape(-1, N_IMAGE, PATCH_SIZE)


def new_question(
    rng: np.random.Generator, document: docs.Document, mix: Mix, asked: set[str]
) -> docs.Question:
    """A question not yet `asked`, which could be answered by copying; any after a few tries."""
    for _ in range(TRIES):
        question = docs.ask(rng, document, mix.values, mix.inks)
        if question.text not in asked:
            break
    asked.add(question.text)
    return question


def make_batch(rng: np.random.Generator, size: int, most_lines: int, mix: Mix) -> Batch:
    """`size` fresh documents of 1 to `most_lines` lines with full conversations."""
    documents, talks, kinds = [], [], []
    for _ in range(size):
        document = docs.sample(rng, int(rng.integers(1, most_lines + 1)))
        talk, asked = _Conversation(), set[str]()
        while talk.add(document, question := new_question(rng, document, mix, asked)):
            kinds.append(question.kind)
        documents.append(document)
        talks.append(talk)
    missing = [N_ANSWER - len(talk.answer) for talk in talks]
    index = [[*t.index, *[0] * n] for t, n in zip(talks, missing, strict=True)]
    answer = [[*t.answer, *[IGNORE] * n] for t, n in zip(talks, missing, strict=True)]
    tokens = np.stack([np.concatenate([[BOS], talk.tokens]) for talk in talks])
    keys = [np.concatenate([image_keys(d), t.keys]) for d, t in zip(documents, talks, strict=True)]
    offset = torch.arange(size)[:, None] * N_TEXT
    return Batch(
        patches=to_patches(np.stack([document.pixels for document in documents])),
        tokens=torch.from_numpy(tokens),
        index=(torch.tensor(index) + offset).flatten(),
        answer=torch.tensor(answer).flatten(),
        characters=torch.from_numpy(np.stack([document.labels for document in documents])),
        patch_inks=torch.from_numpy(np.stack([document.inks for document in documents])),
        keys=torch.from_numpy(np.stack(keys)),
        line_inks=torch.from_numpy(np.stack([talk.line_inks for talk in talks])),
        kinds=kinds,
    )
