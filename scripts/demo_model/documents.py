# SPDX-License-Identifier: GPL-3.0-or-later
"""The synthetic documents which the demo model reads, and questions about them.

A document is a grid of 16 x 16 cells of 12 px. Lines "ABC:123" run over seven cells of one row in
one of four inks; circles, squares and triangles fill single cells. Everything follows from the
random generator handed in. Needs numpy, Pillow and the font DejaVu Sans Mono Bold (Debian package
fonts-dejavu-core).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

CELL, GRID = 12, 16
SIDE = CELL * GRID
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
KEY_LENGTH = 3
INKS = {"red": (200, 30, 30), "green": (20, 140, 40), "blue": (30, 60, 200), "black": (20, 20, 20)}
INK_NAMES = tuple(INKS)
SHAPES = ("circle", "square", "triangle")
FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono-Bold.ttf"

FloatArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]


class Line(NamedTuple):
    """One written line, e.g. ("ABC", "123", "red")."""

    key: str
    value: str
    ink: str


class Question(NamedTuple):
    """What is asked, the right answer, and the index of the line asked about (-1: a count)."""

    text: str
    answer: str
    line: int

    @property
    def kind(self) -> str:
        """Which of "value", "ink" and "count" is asked for."""
        if self.line < 0:
            return "count"
        return "ink" if self.text.endswith(" color?") else "value"


@dataclass
class Document:
    """A drawn document and what each of its cells shows."""

    pixels: npt.NDArray[np.uint8]  # [SIDE, SIDE, 3], RGB
    lines: list[Line]
    shapes: dict[str, int]  # how many of each of SHAPES
    labels: IntArray  # [GRID * GRID] 0 nothing, 1..3 a shape, else the character's code
    inks: IntArray  # [GRID * GRID] index into INK_NAMES, -1 where nothing is drawn
    owners: IntArray  # [GRID * GRID] index into lines, -1 where no line is written

    def questions(self) -> list[Question]:
        """Every question there is about this document: values, then inks, then counts."""
        lines = list(enumerate(self.lines))
        return [
            *(Question(f"{line.key}?", line.value, i) for i, line in lines),
            *(Question(f"{line.key} color?", line.ink, i) for i, line in lines),
            *(Question(f"{shape}s?", str(count), -1) for shape, count in self.shapes.items()),
        ]


def _glyph_masks() -> dict[str, FloatArray]:
    """Coverage 0..1 of each character, [CELL, CELL]."""
    font = ImageFont.truetype(FONT, 12)
    masks = {}
    for character in LETTERS + "0123456789:":
        image = Image.new("L", (CELL, CELL), 0)
        ImageDraw.Draw(image).text((2, -1), character, font=font, fill=255)
        masks[character] = np.asarray(image, np.float32) / np.float32(255)
    return masks


def _shape_masks() -> list[FloatArray]:
    """Coverage 0..1 of each of SHAPES, [CELL, CELL], drawn at four times the size."""
    masks = []
    for shape in SHAPES:
        image = Image.new("L", (CELL * 4, CELL * 4), 0)
        draw = ImageDraw.Draw(image)
        if shape == "circle":
            draw.ellipse((6, 6, 41, 41), fill=255)
        elif shape == "square":
            draw.rectangle((7, 7, 40, 40), fill=255)
        else:
            draw.polygon([(24, 5), (42, 42), (5, 42)], fill=255)
        small = image.resize((CELL, CELL), Image.Resampling.BICUBIC)
        masks.append(np.asarray(small, np.float32) / np.float32(255))
    return masks


_GLYPHS, _SHAPES = _glyph_masks(), _shape_masks()


class _Sheet:
    """A document while it is drawn. All arrays are in cells, but `image` [SIDE, SIDE, 3]."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.image = np.tile(np.array(rng.integers(200, 256, 3), np.float32), (SIDE, SIDE, 1))
        down, right = np.mgrid[0:SIDE, 0:SIDE] / SIDE
        slope = (right - 0.5) * rng.uniform(-20, 20) + (down - 0.5) * rng.uniform(-20, 20)
        self.image += slope[..., None]
        self.labels = np.zeros((GRID, GRID), np.int64)
        self.inks = np.full((GRID, GRID), -1)
        self.owners = np.full((GRID, GRID), -1)
        self.lines: dict[str, Line] = {}  # by key
        self.shapes = dict.fromkeys(SHAPES, 0)

    def paint(self, row: int, column: int, mask: FloatArray, label: int, ink: int) -> None:
        """Blends INK_NAMES[ink] through `mask` [CELL, CELL] into one cell."""
        y, x = row * CELL, column * CELL
        cover, cell = mask[..., None], np.s_[y : y + CELL, x : x + CELL]
        color = np.array(INKS[INK_NAMES[ink]], np.float32)
        self.image[cell] = self.image[cell] * (1 - cover) + color * cover
        self.labels[row, column], self.inks[row, column] = label, ink

    def _free_place(self, length: int) -> tuple[int, int] | None:
        """A row and column where `length` cells and one on each side are free, in 20 tries."""
        for _ in range(20):
            row, column = int(self.rng.integers(GRID)), int(self.rng.integers(GRID - length + 1))
            if not self.labels[row, max(0, column - 1) : column + length + 1].any():
                return row, column
        return None

    def write_line(self) -> None:
        """Writes a random line, or none where its key is taken or no room is found."""
        key = "".join(LETTERS[i] for i in self.rng.integers(0, len(LETTERS), KEY_LENGTH))
        value = "".join(str(i) for i in self.rng.integers(0, 10, 3))
        text = f"{key}:{value}"
        if key in self.lines or (place := self._free_place(len(text))) is None:
            return
        row, column = place
        ink = int(self.rng.integers(len(INKS)))
        shift = (int(self.rng.integers(-1, 2)), int(self.rng.integers(-1, 2)))
        for i, character in enumerate(text):
            mask = np.roll(_GLYPHS[character], shift, (0, 1))
            self.paint(row, column + i, mask, ord(character), ink)
            self.owners[row, column + i] = len(self.lines)
        self.lines[key] = Line(key, value, INK_NAMES[ink])

    def draw_shapes(self, kind: int) -> None:
        """Draws up to four of SHAPES[kind], fewer where a cell is taken."""
        for _ in range(int(self.rng.integers(0, 5))):
            row, column = int(self.rng.integers(GRID)), int(self.rng.integers(GRID))
            if not self.labels[row, column]:
                self.paint(row, column, _SHAPES[kind], 1 + kind, int(self.rng.integers(len(INKS))))
                self.shapes[SHAPES[kind]] += 1


def sample(rng: np.random.Generator, lines: int) -> Document:
    """Draws one document with at most `lines` lines (fewer where the grid is full)."""
    sheet = _Sheet(rng)
    for _ in range(lines):
        sheet.write_line()
    for kind in range(len(SHAPES)):
        sheet.draw_shapes(kind)
    sheet.image += rng.normal(0, 4, sheet.image.shape)
    return Document(
        pixels=np.clip(sheet.image, 0, 255).astype(np.uint8),
        lines=list(sheet.lines.values()),
        shapes=sheet.shapes,
        labels=sheet.labels.ravel(),
        inks=sheet.inks.ravel(),
        owners=sheet.owners.ravel(),
    )


def ask(
    rng: np.random.Generator, document: Document, values: float = 0.6, inks: float = 0.25
) -> Question:
    """A random question: a value or an ink with these probabilities, else a count."""
    draw = rng.random()
    if draw < values + inks and document.lines:
        index = int(rng.integers(len(document.lines)))
        line = document.lines[index]
        if draw < values:
            return Question(f"{line.key}?", line.value, index)
        return Question(f"{line.key} color?", line.ink, index)
    shape = SHAPES[int(rng.integers(len(SHAPES)))]
    return Question(f"{shape}s?", str(document.shapes[shape]), -1)
