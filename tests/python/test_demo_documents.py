# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo documents: what is drawn, what is listed, and that the model reads all of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from conftest import DEMO_DOCUMENTS, DEMO_MODEL
from demo_model import documents as docs
from demo_model.accuracy import Reader
from demo_model.make_documents import INDEX, SHEETS, entry
from PIL import Image

LISTED: list[dict[str, Any]] = json.loads((DEMO_DOCUMENTS / INDEX).read_text("utf-8"))["documents"]


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader(DEMO_MODEL)


def cells_with(document: docs.Document, label: int) -> int:
    return int((document.labels == label).sum())


def test_counts_what_it_draws():
    for seed in range(20):
        document = docs.sample(np.random.default_rng(seed), 6)
        for label, shape in enumerate(docs.SHAPES, 1):
            assert cells_with(document, label) == document.shapes[shape]


def test_writes_every_line_into_seven_cells_of_one_row():
    for seed in range(20):
        document = docs.sample(np.random.default_rng(seed), 9)
        for index, line in enumerate(document.lines):
            cells = np.flatnonzero(document.owners == index)
            assert cells.tolist() == list(range(cells[0], cells[0] + 7))
            assert cells[0] // docs.GRID == cells[-1] // docs.GRID
            written = "".join(chr(code) for code in document.labels[cells])
            assert written == f"{line.key}:{line.value}"
            assert {docs.INK_NAMES[i] for i in document.inks[cells]} == {line.ink}


def test_ink_is_what_the_picture_shows():
    """The darkest pixel of a cell is nearest to the ink that is noted for it."""
    document = docs.sample(np.random.default_rng(4), 5)
    colors = np.array(list(docs.INKS.values()))
    for cell in np.flatnonzero(document.owners >= 0):
        row, column = np.divmod(cell, docs.GRID) * np.array(docs.CELL)
        patch = document.pixels[row : row + docs.CELL, column : column + docs.CELL].reshape(-1, 3)
        darkest = patch[patch.sum(1).argmin()].astype(int)
        assert np.abs(colors - darkest).sum(1).argmin() == document.inks[cell]


def test_mix_decides_what_is_asked():
    rng = np.random.default_rng(0)
    document = docs.sample(rng, 4)
    asked = [docs.ask(rng, document, 0.5, 0.3).kind for _ in range(2000)]
    # Three standard deviations of a binomial of 2000 draws are at most 3.4 %.
    assert abs(asked.count("value") / 2000 - 0.5) < 0.034
    assert abs(asked.count("ink") / 2000 - 0.3) < 0.034


def test_lists_enough_documents_and_crowded_ones():
    lines = [document["lines"] for document in LISTED]
    assert len(lines) >= 8
    assert sum(count >= 7 for count in lines) >= 3
    first = LISTED[0]
    assert first["lines"] >= 6
    assert first["shapes"] > 0
    assert first["questions"][0]["kind"] == "value"


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.file)
def test_picture_and_record_are_what_the_script_makes(sheet):
    document = sheet.draw()
    assert np.array_equal(np.asarray(Image.open(DEMO_DOCUMENTS / sheet.file)), document.pixels)
    (record,) = [record for record in LISTED if record["file"] == sheet.file]
    assert record == entry(sheet, document)


@pytest.mark.oracle
@pytest.mark.parametrize("record", LISTED, ids=lambda record: record["file"])
def test_model_answers_every_listed_question(reader, record):
    pixels = np.asarray(Image.open(DEMO_DOCUMENTS / record["file"]))
    wrong = {
        item["question"]: answer
        for item in record["questions"]
        if (answer := reader.answer(pixels, item["question"])) != item["answer"]
    }
    assert not wrong
