# SPDX-License-Identifier: GPL-3.0-or-later
"""Qwen's picture settings: the spellings that are read, the rule that is recorded, and what is refused."""
from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import pytest
from conftest import run_ecokv, run_program
from model_probe import refusal
from PIL import Image
from tiny_models import edit_json, our_prompt
from tiny_pictures import photo, saved_all
from tiny_qwen import CLIP, RECIPES, save_qwen
from transformers.models.qwen2_vl.image_processing_qwen2_vl import smart_resize

pytestmark = pytest.mark.oracle


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
    ours = our_prompt(folder, tmp_path, "?", saved_all(tmp_path, [photo(300, 200)]))
    assert ours.grids == [[1, 4, 8]]  # 12 tokens at most: floor(200 / beta / 28) x floor(300 / beta / 28), beta 2.525


@pytest.mark.parametrize("name", ["Qwen2VLImageProcessor", "Qwen2VLImageProcessorFast"])
def test_the_rule_of_the_named_processor_is_followed_and_recorded(plain: Path, tmp_path: Path, name: str) -> None:
    """F043: 14 x 1000 pixels (h x w) are 28 x 476 by this rule, 28 x 1008 by that of a helper library."""
    assert smart_resize(14, 1000, factor=28, min_pixels=56 * 56, max_pixels=28 * 28 * 40) == (28, 476)
    folder = tmp_path / "model"
    shutil.copytree(plain, folder)
    edit_json(folder / "processor_config.json", **{"image_processor.image_processor_type": name})
    (picture,) = saved_all(tmp_path, [photo(1000, 14)])
    report = run_ecokv("doctor", folder, "--image", picture, "--prompt", "?")
    (seen,) = report["pictures"]
    assert (seen["resized_height"], seen["resized_width"], seen["tokens"]) == (28, 476, 17)
    lines = {finding["label"]: finding["text"] for finding in report["findings"] if finding["topic"] == "Pictures"}
    assert lines["Processor"] == name
    assert "nearest multiple of 28 pixels (halves to the even one)" in lines["Size"]
    trace = tmp_path / "run.ecokv.h5"
    run_ecokv("run", "--model", folder, "--image", picture, "--prompt", "?", "--policy", "full", "--max-new-tokens", 1, "--trace", trace)
    with h5py.File(trace) as file:
        model = file["model"].attrs
        assert model["processor_class"] == name and model["processor_rule"] == lines["Size"]
        assert model["processor_source"] == "processor_config.json"
        assert (file["images/0"].attrs["resized_height"], file["images/0"].attrs["resized_width"]) == (28, 476)


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
    said = prompt_refusal(plain, tmp_path, "?", saved_all(tmp_path, [photo(201, 1)]))
    assert "picture0.png (201 x 1)" in said and "200" in said


def test_a_video_is_refused_with_what_to_do(plain: Path, tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    clip.write_bytes(b"\0\0\0\x18ftypmp42" + b"\0" * 64)
    said = prompt_refusal(plain, tmp_path, "?", [clip])
    assert "clip.mp4 is a video" in said and "frames" in said


@pytest.mark.parametrize("command", ["run", "doctor"])
def test_the_option_that_people_expect_for_videos_says_what_to_do(plain: Path, command: str) -> None:
    model = ["--model", plain] if command == "run" else [plain]
    done = run_program("ecokv", command, *model, "--prompt", "?", "--video", "clip.mp4", *(["--policy", "full"] if command == "run" else []))
    assert done.returncode == 2
    assert "Videos are not read" in done.stderr and "ffmpeg -i clip.mp4" in done.stderr and "--image frame-*.png" in done.stderr


@pytest.mark.parametrize(("text", "pictures"), [("<|image_pad|>", 2), ("<|image_pad|><|image_pad|>", 1), ("no marker", 1)])
def test_markers_and_pictures_must_match(plain: Path, tmp_path: Path, text: str, pictures: int) -> None:
    """F055."""
    said = prompt_refusal(plain, tmp_path, text, saved_all(tmp_path, [photo(60, 60)] * pictures), template=False)
    assert "<|image_pad|>" in said and f"{pictures} picture(s)" in said


@pytest.mark.parametrize("template", [True, False])
def test_the_marker_of_a_video_is_refused_in_the_words(plain: Path, tmp_path: Path, template: bool) -> None:
    """F055: nothing would fill it, and what stands behind it would move. Its neighbours are words like others."""
    pictures = saved_all(tmp_path, [photo(60, 60)])
    marker = "" if template else "<|vision_start|><|image_pad|><|vision_end|>"
    said = prompt_refusal(plain, tmp_path, marker + "What moves in <|video_pad|>?", pictures, template)
    assert "The words hold <|video_pad|>, which stands for a video" in said and "frames of a video can be given as pictures" in said
    assert our_prompt(plain, tmp_path, "What does <|vision_pad|> mean?", pictures).answer["image_tokens"] > 0


def test_a_question_holds_no_marker(plain: Path, tmp_path: Path) -> None:
    """F055: also where questions come after a context that is read already."""
    (picture,) = saved_all(tmp_path, [photo(60, 60)])
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
    answer = prompt_refusal(folder, tmp_path, "?", saved_all(tmp_path, [photo(200, 200)]))
    assert all(part in answer for part in said), answer


def test_an_enormous_photo_says_its_tokens_before_the_run(plain: Path, tmp_path: Path) -> None:
    """F073: the count is known without weights, and bounded by the checkpoint."""
    picture = tmp_path / "large.png"
    Image.new("RGB", (4000, 4000)).save(picture)
    ours = our_prompt(plain, tmp_path, "?", [picture])
    assert ours.grids == [[1, 12, 12]] and ours.answer["image_tokens"] == 36  # at most 40
