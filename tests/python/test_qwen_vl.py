# SPDX-License-Identifier: GPL-3.0-or-later
"""Qwen2-VL, Qwen2.5-VL, Qwen3-VL and Qwen3.5 against transformers: pixels, ids, positions, features, logits, answers."""
from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import run_ecokv, run_program
from PIL import Image
from safetensors.torch import load_file, save_file
from tiny_models import (
    answer_of,
    check_bf16,
    check_parity,
    edit_json,
    load_tiny,
    our_prompt,
)
from tiny_pictures import photo, saved_all
from tiny_qwen import (
    IMAGE,
    RECIPES,
    VERSIONS,
    Recipe,
    chat_inputs,
    older_config,
    save_qwen,
)
from transformers import PreTrainedModel

pytestmark = pytest.mark.oracle

# width, height: square, very wide, very tall, tiny, odd, below one token, enormous for the limits
SHAPES = [(112, 112), (500, 31), (23, 400), (1, 1), (2, 1), (1, 2), (97, 151), (70, 70), (26, 28), (257, 27), (305, 30),
          (332, 27), (1000, 14), (640, 480)]


GROUPED = [name for name in RECIPES if name.endswith("grouped")]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Threads of the reference would only wait for each other: the models are tiny."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@dataclass
class Tiny:
    folder: Path
    reference: PreTrainedModel
    processor: Any
    recipe: Recipe


@pytest.fixture(scope="module", params=RECIPES)
def tiny(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tiny]:
    folder = tmp_path_factory.mktemp("qwen") / "model"
    reference, processor = save_qwen(folder, RECIPES[request.param])
    yield Tiny(folder, reference, processor, RECIPES[request.param])


# --- from a picture to tokens ---------------------------------------------------------------------


def test_pixels_ids_and_positions(tiny: Tiny, tmp_path: Path) -> None:
    """F039 F041 F043 F046 F047 F055 F065 F067 F072: through the reference's own processor and template."""
    pictures = [photo(*shape, seed) for seed, shape in enumerate(SHAPES)]
    inputs = chat_inputs(tiny.processor, "Which is older, 12 or 13?", pictures)
    ours = our_prompt(tiny.folder, tmp_path, "Which is older, 12 or 13?", saved_all(tmp_path, pictures))
    check_prompt(tiny, ours, inputs)
    image = [picture for picture, id_ in zip(ours.image, ours.ids, strict=True) if id_ == IMAGE]
    assert image == sorted(image) and set(image) == set(range(len(SHAPES)))


def check_prompt(tiny: Tiny, ours: Any, inputs: dict[str, torch.Tensor]) -> None:
    assert ours.ids == inputs["input_ids"][0].tolist()
    assert ours.grids == inputs["image_grid_thw"].tolist()
    assert ours.answer["image_tokens"] == int(inputs["image_grid_thw"].prod(-1).sum()) // 4
    ours_pixels = np.concatenate(ours.pixels)
    deviation = min(tiny.processor.image_processor.image_std)
    np.testing.assert_allclose(ours_pixels * deviation, inputs["pixel_values"].numpy() * deviation,
                               atol=1 / 255 + 1e-6, rtol=0)
    assert np.mean(np.abs(ours_pixels - inputs["pixel_values"].numpy()) < 1e-5) > 0.999, "as good as equal"
    positions, _ = tiny.reference.model.get_rope_index(inputs["input_ids"], inputs["image_grid_thw"])
    np.testing.assert_array_equal(ours.rope_positions, positions[:, 0].T.numpy())


@pytest.mark.parametrize("tiny", GROUPED, indirect=True)
def test_words_alone_have_the_ids_of_the_reference_and_plain_positions(tiny: Tiny, tmp_path: Path) -> None:
    inputs = chat_inputs(tiny.processor, "How many lines, 12 or 13?", [])
    ours = our_prompt(tiny.folder, tmp_path, "How many lines, 12 or 13?")
    assert ours.ids == inputs["input_ids"][0].tolist()
    assert ours.rope_positions.shape == (0, 3)


@pytest.mark.parametrize("tiny", GROUPED, indirect=True)
def test_boxes_cover_the_picture_in_rows(tiny: Tiny, tmp_path: Path) -> None:
    """Golden boxes, by hand: 100 x 60 with its EXIF tag turned to 60 x 100 (F058), then cut into the grid."""
    exif = Image.Exif()
    exif[0x0112] = 6
    path = tmp_path / "turned.jpg"
    photo(100, 60).save(path, exif=exif)
    ours = our_prompt(tiny.folder, tmp_path, "?", [path])
    rows, columns = (n // 2 for n in ours.grids[0][1:])
    assert rows > columns > 1
    boxes = [box for box in ours.boxes if box is not None]
    wide, high = 60 / columns, 100 / rows
    expected = [[c * wide, r * high, (c + 1) * wide, (r + 1) * high] for r in range(rows) for c in range(columns)]
    np.testing.assert_allclose(boxes, expected, atol=1e-4)
    assert [i for i, box in enumerate(ours.boxes) if box is not None] == [i for i, t in enumerate(ours.ids) if t == IMAGE]


# --- logits and answers ---------------------------------------------------------------------------


def parity(tiny: Tiny, folder: Path, out: Path, words: str, shapes: list[tuple[int, int]], **request: Any) -> None:
    """Through template, processor, tower and decoder, against the reference's own way."""
    pictures = [photo(*shape, seed) for seed, shape in enumerate(shapes)]
    tiny.reference.model.rope_deltas = None  # words alone would take those of the picture before
    check_parity(folder, out, tiny.reference, inputs=chat_inputs(tiny.processor, words, pictures), text=words,
                 images=saved_all(out, pictures), template=True, **request)


@pytest.mark.parametrize(("shapes", "chunk"), [([(112, 112)], 0), ([(300, 40), (30, 250), (1, 1)], 7), ([], 0)],
                         ids=["square", "wide, tall and one pixel, in chunks", "words alone"])
def test_logits_and_answers(tiny: Tiny, tmp_path: Path, shapes: list[tuple[int, int]], chunk: int) -> None:
    """F067 F071 (frames of a patch have weights of their own) F072."""
    parity(tiny, tiny.folder, tmp_path, "What is the total?", shapes, chunk=chunk)


@pytest.mark.parametrize("tiny", GROUPED, indirect=True)
def test_frames_of_a_video_go_through_the_command_line_as_a_row_of_pictures(tiny: Tiny, tmp_path: Path) -> None:
    """As a shell writes frame-*.png: the tokens and the answer that the reference gives to these pictures."""
    frames = [photo(84, 56, seed) for seed in range(3)]
    tiny.reference.model.rope_deltas = None
    expected = answer_of(tiny.reference, chat_inputs(tiny.processor, "What happens?", frames), 4)
    run = run_ecokv("run", "--model", tiny.folder, "--prompt", "What happens?", "--policy", "full", "--max-new-tokens", 4,
                    "--image", *saved_all(tmp_path, frames))
    assert run["token_ids"] == expected.chosen[:len(run["token_ids"])] and (len(run["token_ids"]) == 4 or run["stopped_at_end"])
    inputs = chat_inputs(tiny.processor, "What happens?", frames)
    assert run["prompt_tokens"] == inputs["input_ids"].shape[1]
    assert run["image_tokens"] == int(inputs["image_grid_thw"].prod(-1).sum()) // 4


def test_bf16_is_close_to_the_reference_in_bf16(tiny: Tiny, tmp_path: Path) -> None:
    pictures = [photo(150, 90), photo(61, 133)]
    inputs = chat_inputs(tiny.processor, "Why?", pictures)
    reference = load_tiny(tiny.folder, VERSIONS[tiny.recipe.version].model, torch.bfloat16)
    check_bf16(tiny.folder, tmp_path, reference, inputs, text="Why?",
               images=[str(path) for path in saved_all(tmp_path, pictures)], apply_template=True)


def test_features_of_the_tower(tiny: Tiny, tmp_path: Path) -> None:
    """F071, and deepstack of Qwen3-VL, without the decoder."""
    pictures = [photo(150, 90), photo(61, 233)]
    inputs = chat_inputs(tiny.processor, "?", pictures)
    with torch.no_grad():
        output = tiny.reference.model.visual(inputs["pixel_values"], grid_thw=inputs["image_grid_thw"])
    done = run_program("ecokv_vision_probe", tiny.folder, tmp_path, *saved_all(tmp_path, pictures))
    assert done.returncode == 0, done.stderr
    deep = getattr(output, "deepstack_features", None) or []
    assert json.loads(done.stdout)["deepstack"] == len(deep)
    rows = np.concatenate([np.load(tmp_path / f"rows{i}.npy") for i in range(2)])
    np.testing.assert_allclose(rows, output.pooler_output.numpy(), atol=1e-3, rtol=1e-3)
    for k, expected in enumerate(deep):
        rows = np.concatenate([np.load(tmp_path / f"deep{i}_{k}.npy") for i in range(2)])
        np.testing.assert_allclose(rows, expected.numpy(), atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("name", ["qwen2 tied", "qwen2.5 tied"])
def test_features_of_a_picture_with_more_patches_than_a_block_of_the_tower(tmp_path: Path, name: str) -> None:
    """F073: 68 x 62 patches, with windows and without."""
    folder = tmp_path / "model"
    reference, processor = save_qwen(folder, replace(RECIPES[name], pixels=(1, 1 << 20)))
    picture = photo(62 * 8, 68 * 8)
    inputs = chat_inputs(processor, "?", [picture])
    assert inputs["image_grid_thw"].tolist() == [[1, 68, 62]]
    with torch.no_grad():
        expected = reference.model.visual(inputs["pixel_values"], grid_thw=inputs["image_grid_thw"]).pooler_output
    done = run_program("ecokv_vision_probe", folder, tmp_path, *saved_all(tmp_path, [picture]))
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "rows0.npy"), expected.numpy(), atol=1e-3, rtol=1e-3)


# --- layouts and spellings ------------------------------------------------------------------------


def rewritten(tiny: Tiny, folder: Path, rename: Any) -> Path:
    """A copy with other names of tensors."""
    shutil.copytree(tiny.folder, folder)
    path = folder / "model.safetensors"
    save_file({rename(name): tensor.clone() for name, tensor in load_file(path).items()}, path, {"format": "pt"})
    return path


def newer(name: str) -> str:
    if name.startswith("visual."):
        return f"model.{name}"
    if name.startswith("model.") and not name.startswith(("model.visual.", "model.language_model.")):
        return name.replace("model.", "model.language_model.", 1)
    return name


def older(name: str) -> str:
    return newer(name).replace("model.visual.", "visual.").replace("model.language_model.", "model.")


@pytest.mark.parametrize(("tiny", "layout"), [
    (name, layout) for name in RECIPES for layout in ("older", "newer")
    if (name in GROUPED if layout == "newer" else "qwen3" not in name)  # Qwen3-VL has one layout only
], indirect=["tiny"])
def test_both_layouts_of_names_and_keys_give_equal_logits(tiny: Tiny, tmp_path: Path, layout: str) -> None:
    """F087 F091: older releases had no text_config, rope_scaling of type mrope, and shorter prefixes."""
    folder = tmp_path / "copy"
    path = rewritten(tiny, folder, older if layout == "older" else newer)
    assert any(name.startswith("visual." if layout == "older" else "model.visual.") for name in load_file(path))
    if layout == "older":
        older_config(folder, "mrope")
    parity(tiny, folder, tmp_path, "Why?", [(150, 90)], steps=5)


@pytest.mark.parametrize("kind", ["type", "rope_type"])
@pytest.mark.parametrize("tiny", GROUPED, indirect=True)
def test_rotary_settings_beside_the_others_of_the_decoder_are_read(tiny: Tiny, tmp_path: Path, kind: str) -> None:
    """As released folders have them: rope_theta and rope_scaling in text_config, in place of rope_parameters."""
    folder = tmp_path / "copy"
    shutil.copytree(tiny.folder, folder)
    scaling = json.loads((folder / "config.json").read_text("utf-8"))["text_config"]["rope_parameters"]
    scaling[kind] = scaling.pop("rope_type")
    edit_json(folder / "config.json", **{"text_config.rope_parameters": None, "text_config.rope_theta": scaling.pop("rope_theta"),
                                         "text_config.rope_scaling": scaling})
    if partial := scaling.pop("partial_rotary_factor", None):
        edit_json(folder / "config.json", **{"text_config.partial_rotary_factor": partial, "text_config.rope_scaling": scaling})
    parity(tiny, folder, tmp_path, "Why?", [(150, 90)], steps=5)
