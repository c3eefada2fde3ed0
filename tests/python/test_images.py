# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures: preprocessing and prompts against transformers' processor."""
from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from conftest import DEMO_MODEL
from model_probe import probe, refusal
from photos import photo, saved
from PIL import Image
from transformers import AutoImageProcessor, AutoProcessor

pytestmark = pytest.mark.oracle


def clip_folder(folder: Path, **changes: Any) -> Path:
    """A folder with older-style settings of the CLIP processor."""
    settings: dict[str, Any] = {
        "image_processor_type": "CLIPImageProcessor", "do_resize": True, "size": {"shortest_edge": 224}, "resample": 3,
        "do_center_crop": True, "crop_size": {"height": 224, "width": 224}, "do_rescale": True, "rescale_factor": 1 / 255,
        "do_normalize": True, "image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711],
        "do_convert_rgb": True, **changes}
    folder.mkdir(exist_ok=True)
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    return folder


def processed(tmp_path: Path, folder: Path, image: Image.Image) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Our pixel values and those of transformers, [3, height, width]."""
    path = saved(tmp_path, image, "picture.png")
    out = tmp_path / "out.f32"
    said = probe("pixels", folder, path, out)
    ours = np.fromfile(out, np.float32).reshape(3, said["height"], said["width"])
    reference = AutoImageProcessor.from_pretrained(folder)(Image.open(path), return_tensors="pt")["pixel_values"][0].numpy()
    return ours, reference


SIZES = [(192, 192), (64, 64), (500, 333), (333, 500), (1000, 50), (17, 17), (1, 1), (1, 2), (2, 1), (101, 57), (227, 225), (384, 384), (193, 640)]


@pytest.mark.parametrize("size", SIZES)
def test_pixel_values_of_the_demo_processor_equal_the_reference(size: tuple[int, int], tmp_path: Path) -> None:
    """F046 F047 F048 F065; exactly equal, not only within 1/255."""
    ours, reference = processed(tmp_path, DEMO_MODEL, photo(*size))
    assert ours.shape == reference.shape == (3, 192, 192)
    assert np.abs(ours - reference).max() <= 1e-6


SETTINGS: dict[str, dict[str, Any]] = {
    "as-written": {},
    "sizes-as-numbers": {"size": 224, "crop_size": 224},
    "exact-size": {"size": {"height": 100, "width": 60}, "crop_size": {"height": 64, "width": 80}},
    "bilinear": {"resample": 2},
    "nearest": {"resample": 0},
    "without-crop": {"do_center_crop": False},
    "without-resize": {"do_resize": False},
    "without-normalise": {"do_normalize": False},
    "without-rescale": {"do_rescale": False},
    "crop-larger-than-picture": {"size": {"shortest_edge": 50}, "crop_size": {"height": 71, "width": 64}},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_is_followed(name: str, tmp_path: Path) -> None:
    """Older preprocessor_config.json in all its spellings."""
    folder = clip_folder(tmp_path / "model", **SETTINGS[name])
    for size in [(227, 301), (90, 40)]:
        ours, reference = processed(tmp_path, folder, photo(*size))
        assert ours.shape == reference.shape
        assert np.abs(ours - reference).max() <= 1e-5 * max(1.0, float(np.abs(reference).max()))


def test_checkerboard_shrinks_to_flat_grey(tmp_path: Path) -> None:
    """F046: 448 x 448 one-pixel squares to 224 x 224."""
    board = Image.fromarray((np.indices((448, 448)).sum(0) % 2 * 255).astype(np.uint8)).convert("RGB")
    folder = clip_folder(tmp_path / "model", do_normalize=False)
    ours, _ = processed(tmp_path, folder, board)
    assert np.abs(ours[:, 8:-8, 8:-8] - 0.5).max() < 2 / 255


def test_hard_edge_never_leaves_the_range(tmp_path: Path) -> None:
    """F047: half black, half white 8 x 8 up to 56 x 56."""
    image = Image.fromarray(np.repeat(np.array([[0] * 4 + [255] * 4], np.uint8), 8, axis=0)).convert("RGB")
    folder = clip_folder(tmp_path / "model", size=56, crop_size=56, do_normalize=False)
    ours, _ = processed(tmp_path, folder, image)
    assert ours.min() == 0.0 and ours.max() == 1.0


@pytest.mark.parametrize(("change", "said"), [
    ({"image_processor_type": "BlipImageProcessor"}, "BlipImageProcessor"), ({"image_processor_type": None}, "image_processor_type is missing"),
    ({"resample": 1}, "resample"), ({"size": {"longest_edge": 9}}, "longest_edge"), ({"size": 0}, "size"), ({"image_std": [1, 2]}, "image_std"),
])
def test_unknown_settings_are_refused(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    """By file and key."""
    path = saved(tmp_path, photo(5, 5), "a.png")
    sentence = refusal("pixels", clip_folder(tmp_path / "model", **change), path, tmp_path / "out")
    assert said in sentence and "preprocessor_config.json" in sentence


def demo_copy(tmp_path: Path, **config: Any) -> Path:
    """The demo folder without weights, with keys of config.json changed."""
    folder = tmp_path / "demo"
    shutil.copytree(DEMO_MODEL, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    data = json.loads((folder / "config.json").read_text())
    for key, value in config.items():
        target = data["text_config"] if key in data["text_config"] else data
        target[key] = value
    (folder / "config.json").write_text(json.dumps(data))
    return folder


@pytest.mark.parametrize("size", [(192, 192), (300, 200)])
def test_prompt_ids_equal_the_processor(size: tuple[int, int], tmp_path: Path) -> None:
    """F054: 256 image tokens; template, expansion and ids in one."""
    path = saved(tmp_path, photo(*size), "a.png")
    processor = AutoProcessor.from_pretrained(DEMO_MODEL)
    text = processor.apply_chat_template([{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "ABC?"}]}])
    expected = processor(images=Image.open(path), text=text, add_special_tokens=False)["input_ids"][0]
    result = probe("prompt", DEMO_MODEL, stdin={"text": "ABC?", "images": [str(path)]})
    assert result["ids"] == expected and result["text"] == text
    assert result["image_tokens"] == 256
    assert result["kinds"][:2] == [1, 2] and result["kinds"][257:] == [0] * (len(expected) - 257)


def test_patch_boxes_lie_where_the_patches_came_from(tmp_path: Path) -> None:
    """300 x 200 is scaled by 192/200 and loses 48 columns on each side: x begins at 48 / .96 = 50."""
    path = saved(tmp_path, photo(300, 200), "a.png")
    boxes = probe("prompt", DEMO_MODEL, stdin={"text": "ABC?", "images": [str(path)]})["boxes"]
    assert boxes[0] is None and boxes[257] is None
    np.testing.assert_allclose(boxes[1], [50, 0, 62.5, 12.5], atol=1e-4)
    np.testing.assert_allclose(boxes[256], [237.5, 187.5, 250, 200], atol=1e-4)
    np.testing.assert_allclose(boxes[1 + 16], [50, 12.5, 62.5, 25], atol=1e-4)


def test_kept_class_token_counts_and_has_no_box(tmp_path: Path) -> None:
    """F054: strategy "full" gives 257; the processor file, which still says 256, is refused with both numbers."""
    folder = demo_copy(tmp_path, vision_feature_select_strategy="full")
    path = saved(tmp_path, photo(20, 20), "a.png")
    request = {"text": "ABC?", "images": [str(path)]}
    sentence = refusal("prompt", folder, stdin=request)
    assert "256" in sentence and "257" in sentence
    processor = json.loads((folder / "processor_config.json").read_text())
    (folder / "processor_config.json").write_text(json.dumps({**processor, "vision_feature_select_strategy": "full"}))
    result = probe("prompt", folder, stdin=request)
    assert result["image_tokens"] == 257 and result["boxes"][1] is None and result["boxes"][2] is not None


def test_pictures_and_markers_must_match(tmp_path: Path) -> None:
    """F055, both ways."""
    path = str(saved(tmp_path, photo(20, 20), "a.png"))
    for text, images in [("<s><image> x", [path, path]), ("<s><image><image> x", [path]), ("x", [path]), ("<image>", [])]:
        sentence = refusal("prompt", DEMO_MODEL, stdin={"text": text, "images": images, "template": False})
        assert f"{text.count('<image>')} picture marker" in sentence and f"{len(images)} picture(s)" in sentence


def test_two_pictures_keep_their_order(tmp_path: Path) -> None:
    """F072: marker i belongs to picture i."""
    paths = [str(saved(tmp_path, photo(size, 20), f"{size}.png")) for size in (20, 40)]
    result = probe("prompt", DEMO_MODEL, stdin={"text": "<s><image>a<image>", "images": paths, "template": False})
    assert result["image"] == [-1] + [0] * 256 + [-1] + [1] * 256
    assert result["boxes"][1][0] == 0 and result["boxes"][258][0] == 10


def test_too_long_prompt_is_refused_with_both_numbers(tmp_path: Path) -> None:
    """F057."""
    folder = demo_copy(tmp_path, max_position_embeddings=200)
    path = str(saved(tmp_path, photo(20, 20), "a.png"))
    sentence = refusal("prompt", folder, stdin={"text": "ABC?", "images": [path]})
    assert "269 tokens" in sentence and "200" in sentence


def test_exactly_one_start_token_however_the_prompt_is_given(tmp_path: Path) -> None:
    """F113: the template writes one; raw text gets the tokenizer's; its own is not doubled."""
    folder = demo_copy(tmp_path)
    data = json.loads((folder / "tokenizer.json").read_text())
    data["post_processor"]["single"].insert(0, {"SpecialToken": {"id": "<s>", "type_id": 0}})
    data["post_processor"]["special_tokens"] = {"<s>": {"id": "<s>", "ids": [256], "tokens": ["<s>"]}}
    (folder / "tokenizer.json").write_text(json.dumps(data))
    for request in ({"text": "Hey"}, {"text": "Hey", "template": False}, {"text": "<s>Hey", "template": False}):
        ids = probe("prompt", folder, stdin=request)["ids"]
        assert ids[0] == 256 and ids.count(256) == 1
