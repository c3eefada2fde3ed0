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
from conftest import run_program
from model_probe import refusal
from PIL import Image
from safetensors.torch import load_file, save_file
from tiny_models import check_bf16, check_parity, edit_json, load_tiny, our_prompt
from tiny_pictures import photo
from tiny_qwen import (
    CLIP,
    IMAGE,
    RECIPES,
    VERSIONS,
    Recipe,
    chat_inputs,
    older_config,
    save_qwen,
)
from transformers import PreTrainedModel
from transformers.models.qwen2_vl.image_processing_qwen2_vl import smart_resize

pytestmark = pytest.mark.oracle

# width, height: square, very wide, very tall, tiny, odd, below one token, enormous for the limits
SHAPES = [(112, 112), (500, 31), (23, 400), (1, 1), (2, 1), (97, 151), (26, 28), (257, 27), (1000, 14), (640, 480)]


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


def saved(folder: Path, pictures: list[Image.Image]) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"picture{i}.png" for i in range(len(pictures))]
    for path, picture in zip(paths, pictures, strict=True):
        picture.save(path)
    return paths


# --- from a picture to tokens ---------------------------------------------------------------------


def test_pixels_ids_and_positions(tiny: Tiny, tmp_path: Path) -> None:
    """F039 F041 F043 F046 F047 F055 F065 F067 F072: through the reference's own processor and template."""
    pictures = [photo(*shape, seed) for seed, shape in enumerate(SHAPES)]
    inputs = chat_inputs(tiny.processor, "Which is older, 12 or 13?", pictures)
    ours = our_prompt(tiny.folder, tmp_path, "Which is older, 12 or 13?", saved(tmp_path, pictures))
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
                 images=saved(out, pictures), template=True, **request)


@pytest.mark.parametrize(("shapes", "chunk"), [([(112, 112)], 0), ([(300, 40), (30, 250), (1, 1)], 7), ([], 0)],
                         ids=["square", "wide, tall and one pixel, in chunks", "words alone"])
def test_logits_and_answers(tiny: Tiny, tmp_path: Path, shapes: list[tuple[int, int]], chunk: int) -> None:
    """F067 F071 (frames of a patch have weights of their own) F072."""
    parity(tiny, tiny.folder, tmp_path, "What is the total?", shapes, chunk=chunk)


def test_bf16_is_close_to_the_reference_in_bf16(tiny: Tiny, tmp_path: Path) -> None:
    pictures = [photo(150, 90), photo(61, 133)]
    inputs = chat_inputs(tiny.processor, "Why?", pictures)
    reference = load_tiny(tiny.folder, VERSIONS[tiny.recipe.version].model, torch.bfloat16)
    check_bf16(tiny.folder, tmp_path, reference, inputs, text="Why?",
               images=[str(path) for path in saved(tmp_path, pictures)], apply_template=True)


def test_features_of_the_tower(tiny: Tiny, tmp_path: Path) -> None:
    """F071, and deepstack of Qwen3-VL, without the decoder."""
    pictures = [photo(150, 90), photo(61, 233)]
    inputs = chat_inputs(tiny.processor, "?", pictures)
    with torch.no_grad():
        output = tiny.reference.model.visual(inputs["pixel_values"], grid_thw=inputs["image_grid_thw"])
    done = run_program("ecokv_vision_probe", tiny.folder, tmp_path, *saved(tmp_path, pictures))
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
    done = run_program("ecokv_vision_probe", folder, tmp_path, *saved(tmp_path, [picture]))
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


@pytest.mark.parametrize("spelling", ["size", "pixels", "both"])
def test_limits_are_read_in_both_spellings(tmp_path: Path, spelling: str) -> None:
    """F044: a preprocessor_config.json as older exports have it; where both are there, min_pixels wins."""
    recipe = replace(RECIPES["qwen2 grouped"], pixels=(56 * 56, 28 * 28 * 12))
    save_qwen(tmp_path / "model", recipe)
    folder = tmp_path / "model"
    (folder / "processor_config.json").unlink()
    size = {"shortest_edge": 56 * 56, "longest_edge": 28 * 28 * 12}
    pixels = {"min_pixels": 56 * 56, "max_pixels": 28 * 28 * 12}
    settings: dict[str, Any] = {"image_processor_type": "Qwen2VLImageProcessor", "patch_size": 14, "merge_size": 2,
                                "temporal_patch_size": 2} | CLIP
    settings |= {"size": {"size": size, "pixels": size, "both": {"shortest_edge": 1, "longest_edge": 28 * 28 * 99}}[spelling]}
    if spelling == "pixels":
        del settings["size"]
    if spelling != "size":
        settings |= pixels
    (folder / "preprocessor_config.json").write_text(json.dumps(settings), "utf-8")
    ours = our_prompt(folder, tmp_path, "?", saved(tmp_path, [photo(300, 200)]))
    assert ours.grids == [[1, 4, 8]]  # 12 tokens at most: floor(200 / beta / 28) x floor(300 / beta / 28), beta 2.525


# --- refusals -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain") / "model"
    save_qwen(folder, RECIPES["qwen2 grouped"])
    return folder


def prompt_refusal(folder: Path, out: Path, text: str, images: list[Path], template: bool = True) -> str:
    return refusal("prompt", folder, out, stdin={"text": text, "images": [str(i) for i in images], "template": template})


def test_a_strip_is_refused_with_its_size(plain: Path, tmp_path: Path) -> None:
    """F041: the reference refuses sides over 200 to 1 as well."""
    with pytest.raises(ValueError, match="aspect ratio"):
        smart_resize(1, 201)
    said = prompt_refusal(plain, tmp_path, "?", saved(tmp_path, [photo(201, 1)]))
    assert "picture0.png (201 x 1)" in said and "200" in said


def test_a_video_is_refused_with_what_to_do(plain: Path, tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    clip.write_bytes(b"\0\0\0\x18ftypmp42" + b"\0" * 64)
    said = prompt_refusal(plain, tmp_path, "?", [clip])
    assert "clip.mp4 is a video" in said and "frames" in said


@pytest.mark.parametrize(("text", "pictures"), [("<|image_pad|>", 2), ("<|image_pad|><|image_pad|>", 1), ("no marker", 1)])
def test_markers_and_pictures_must_match(plain: Path, tmp_path: Path, text: str, pictures: int) -> None:
    """F055."""
    said = prompt_refusal(plain, tmp_path, text, saved(tmp_path, [photo(60, 60)] * pictures), template=False)
    assert "<|image_pad|>" in said and f"{pictures} picture(s)" in said


@pytest.mark.parametrize("template", [True, False])
def test_the_marker_of_a_video_is_refused_in_the_words(plain: Path, tmp_path: Path, template: bool) -> None:
    """F055: nothing would fill it, and what stands behind it would move. Its neighbours are words like others."""
    pictures = saved(tmp_path, [photo(60, 60)])
    marker = "" if template else "<|vision_start|><|image_pad|><|vision_end|>"
    said = prompt_refusal(plain, tmp_path, marker + "What moves in <|video_pad|>?", pictures, template)
    assert "The words hold <|video_pad|>, which stands for a video" in said and "frames of a video can be given as pictures" in said
    assert our_prompt(plain, tmp_path, "What does <|vision_pad|> mean?", pictures).answer["image_tokens"] > 0


def test_a_question_holds_no_marker(plain: Path, tmp_path: Path) -> None:
    """F055: also where questions come after a context that is read already."""
    (picture,) = saved(tmp_path, [photo(60, 60)])
    for marker in ("<|video_pad|>", "<|image_pad|>"):
        done = run_program("ecokv", "run", "--model", plain, "--image", picture, "--policy", "full", "--ask", f"And {marker}?")
        assert done.returncode == 3 and marker in done.stderr, done.stderr


@pytest.mark.parametrize(("file", "key", "value", "said"), [
    ("processor_config.json", "image_processor.patch_size", 16, ["patch_size = 16", "made for 14"]),
    ("processor_config.json", "image_processor.merge_size", 1, ["merge_size = 1", "made for 2"]),
    ("processor_config.json", "image_processor.size", {"height": 5}, ["size.shortest_edge"]),
    ("processor_config.json", "image_processor.image_processor_type", "CLIPImageProcessor", ["Qwen2VLImageProcessor"]),
    ("config.json", "vision_config.hidden_size", 96, ["rows of 96", "rows of 64"]),
    ("config.json", "vision_config.num_heads", 5, ["5 heads"]),
    ("config.json", "vision_config.in_channels", 4, ["in_channels = 4"]),
    ("config.json", "text_config.max_position_embeddings", 40, ["was made for 40"]),  # F057
])
def test_files_that_do_not_fit_are_refused(plain: Path, tmp_path: Path, file: str, key: str, value: Any,
                                           said: list[str]) -> None:
    folder = tmp_path / "model"
    shutil.copytree(plain, folder)
    edit_json(folder / file, **{key: value})
    answer = prompt_refusal(folder, tmp_path, "?", saved(tmp_path, [photo(200, 200)]))
    assert all(part in answer for part in said), answer


def test_an_enormous_photo_says_its_tokens_before_the_run(plain: Path, tmp_path: Path) -> None:
    """F073: the count is known without weights, and bounded by the checkpoint."""
    picture = tmp_path / "large.png"
    Image.new("RGB", (4000, 4000)).save(picture)
    ours = our_prompt(plain, tmp_path, "?", [picture])
    assert ours.grids == [[1, 12, 12]] and ours.answer["image_tokens"] == 36  # at most 40
