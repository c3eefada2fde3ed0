# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders of published models, as they are: their own configurations, their tensors' names and shapes as holes on disk."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import run_ecokv
from hub_models import MODELS
from PIL import Image
from sparse_hub import write_folder

pytestmark = pytest.mark.oracle

WORDS = "What is this?"


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The usual size of a small photo."""
    path = tmp_path_factory.mktemp("picture") / "photo.png"
    Image.new("RGB", (640, 480), (90, 120, 30)).save(path)
    yield path


def elements(shape: tuple[int, ...]) -> int:
    count = 1
    for side in shape:
        count *= side
    return count


@pytest.mark.parametrize("name", MODELS)
def test_a_published_folder_opens(name: str, tmp_path: Path, picture: Path) -> None:
    """F087 F091 F092 F095 F117 F120: every tensor is taken, a prompt with a picture has the tokens worked out by hand."""
    model = MODELS[name]
    tensors = write_folder(tmp_path, model)
    images: list[object] = ["--image", picture] if model.image_tokens else []
    plain = ["--plain-prompt"] if model.template is None else []
    report = run_ecokv("doctor", tmp_path, *images, "--prompt", WORDS, "--budget", 128, *plain)
    assert report["ok"] and report["architecture"] == model.config["architectures"][0]
    assert report["parameters"] == sum(map(elements, tensors.values()))
    assert report["image_tokens"] == model.image_tokens and report["prompt_tokens"] > model.image_tokens
    assert report["memory"]["total"] > report["weight_bytes"]
    findings = {(f["topic"], f["label"]): f["text"] for f in report["findings"]}
    assert findings["Weights", "Tensors"] == f"all {len(tensors)} fit config.json"
    assert f"{model.tokenizer['eos_token']} ({model.tokens[model.tokenizer['eos_token']]})" in findings["Text", "Ends at"]
