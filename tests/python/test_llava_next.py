# SPDX-License-Identifier: GPL-3.0-or-later
"""LLaVA-NeXT against transformers: AnyRes tiles, prompts, logits, answers, and where each token comes from."""
from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoint_names import newest_layout, oldest_layout, renamed
from conftest import run_program
from model_probe import refusal
from safetensors.torch import load_file, save_file
from tiny_models import (
    OurPrompt,
    edit_json,
    our_prompt,
    save_tiny,
    save_tokenizer,
)
from tiny_pictures import (
    boxes_of_picture,
    check_answer,
    check_bf16_answer,
    check_order,
    reference_inputs,
    saved_photos,
    saved_rotated,
)
from transformers import (
    AutoProcessor,
    CLIPVisionConfig,
    LlavaNextConfig,
    LlavaNextForConditionalGeneration,
    LlavaNextImageProcessorFast,
    LlavaNextProcessor,
    SiglipVisionConfig,
)

pytestmark = pytest.mark.oracle

IMAGE = 258  # "<image>" of the demo's tokenizer
VOCABULARY = 260
PATCH, THUMBNAIL, NEWLINE = 0, 3, 1
TEXT = {"vocab_size": VOCABULARY, "bos_token_id": 256, "eos_token_id": 257, "max_position_embeddings": 4096}
VISION = {"hidden_size": 32, "intermediate_size": 56, "num_hidden_layers": 2, "num_attention_heads": 4,
          "patch_size": 4}


class Recipe:
    """A tiny checkpoint: configuration, side of a square, strategy."""

    def __init__(self, side: int, vision: Any, text: dict[str, Any], strategy: str,
                 draw: dict[str, Any], **top: Any) -> None:
        self.draw = draw  # of weights whose answers say different things
        self.side, self.patches, self.strategy = side, side // 4, strategy
        self.class_tokens = 1 if vision is CLIPVisionConfig else 0
        self.pinpoints = [[side * h, side * w] for h, w in ((1, 2), (2, 1), (2, 2), (3, 1), (1, 3))]
        self.config = LlavaNextConfig(vision_config=vision(image_size=side, **VISION).to_dict(), text_config=TEXT | text,
                                      image_token_index=IMAGE, image_grid_pinpoints=self.pinpoints,
                                      vision_feature_select_strategy=strategy, **top)


RECIPES = {
    # Vicuna: class token dropped, plain heads, linear rotary scaling in the older spelling (see below).
    "vicuna": lambda: Recipe(24, CLIPVisionConfig, {
        "model_type": "llama", "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 4, "rope_parameters": {"rope_type": "linear", "rope_theta": 1e5, "factor": 2.0}}, "default", {"seed": 0}),
    # Mistral: grouped queries with a head size of their own, a tied head, two layers of features.
    "mistral": lambda: Recipe(24, CLIPVisionConfig, {
        "model_type": "mistral", "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 20, "sliding_window": None}, "default", {"seed": 0, "spread": 0.22},
        tie_word_embeddings=True, vision_feature_layer=[-1, 0], projector_hidden_act="relu"),
    # SigLIP: no class token, so nothing is dropped; biases of Qwen2; an odd number of patches a side.
    "qwen2": lambda: Recipe(20, SiglipVisionConfig, {
        "model_type": "qwen2", "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 6,
        "num_key_value_heads": 2}, "full", {"seed": 1}, multimodal_projector_bias=False, vision_feature_layer=-1),
}


def save_processor(folder: Path, recipe: Recipe, **settings: Any) -> Any:
    """The family's processor, saved and opened again."""
    tokenizer = save_tokenizer(folder, image_token="<image>")
    side = {"height": recipe.side, "width": recipe.side}
    images = LlavaNextImageProcessorFast(**{"size": {"shortest_edge": recipe.side}, "crop_size": side,
                                            "image_grid_pinpoints": recipe.pinpoints} | settings)
    LlavaNextProcessor(images, tokenizer, patch_size=4, vision_feature_select_strategy=recipe.strategy,
                       num_additional_image_tokens=recipe.class_tokens).save_pretrained(folder)
    return AutoProcessor.from_pretrained(folder)


Tiny = tuple[Path, Recipe, Any, Any]  # folder, recipe, reference, processor


@pytest.fixture(scope="module", params=RECIPES)
def tiny(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    recipe = RECIPES[request.param]()
    folder = tmp_path_factory.mktemp(request.param) / "model"
    processor = save_processor(folder, recipe)
    return folder, recipe, save_tiny(
        folder, LlavaNextForConditionalGeneration, recipe.config, **recipe.draw), processor


def check_prompt(ours: OurPrompt, inputs: dict[str, Any]) -> None:
    """Ids and pixels. The reference pads the squares of each picture to the longest; ours are not padded."""
    assert ours.ids == inputs["input_ids"][0].tolist()
    for picture, pixels in enumerate(ours.pixels):
        theirs = inputs["pixel_values"][picture].numpy()
        assert np.abs(pixels - theirs[:len(pixels)]).max() <= 1e-6
        assert not theirs[len(pixels):].any()


# --- tiles and prompts ----------------------------------------------------------------------------

SIZES = [(24, 24), (400, 20), (15, 300), (1, 1), (1, 2), (2, 1), (300, 1), (101, 57), (57, 101), (300, 100), (100, 300),
         (700, 100), (48, 24), (47, 49), (225, 224), (500, 333), (40, 80), (80, 40)]


def test_tiles_and_ids_equal_the_processor(tiny: Tiny, tmp_path: Path) -> None:
    """F046 F047 F050 F055 F065 F066: every shape down to one pixel, all in one prompt."""
    folder, _, _, processor = tiny
    paths = saved_photos(tmp_path, *SIZES)
    text = "<s>" + "".join(f"<image>{i} " for i in range(len(paths)))
    ours = our_prompt(folder, tmp_path, text, paths, template=False)
    check_prompt(ours, reference_inputs(processor, text, paths))


def published(folder: Path) -> None:
    """The geometry of LLaVA-1.6: squares of 336 pixels, patches of 14, its list of canvases."""
    recipe = RECIPES["vicuna"]()
    recipe.side = 336
    recipe.pinpoints = [[336, 672], [672, 336], [672, 672], [1008, 336], [336, 1008]]
    save_processor(folder, recipe)
    edit_json(folder / "processor_config.json", patch_size=14)
    recipe.config.save_pretrained(folder)
    edit_json(folder / "config.json", **{"vision_config.image_size": 336, "vision_config.patch_size": 14,
                                         "image_grid_pinpoints": None})


@pytest.mark.parametrize("width, height, tokens, canvas", [
    (336, 336, 1176, [1, 2]),  # F049: canvas 336 x 672 (height first)
    (400, 900, 1926, [3, 1]),  # F050: 54 of 72 rows of 24, each with a newline
    (900, 400, 1896, [1, 3]),  # 24 rows of 54 columns
    (1000, 1, 576, [1, 3]),    # no row of features is left; the thumbnail stays
])
def test_published_geometry_gives_the_published_counts(tmp_path: Path, width: int, height: int, tokens: int,
                                                       canvas: list[int]) -> None:
    published(tmp_path / "model")
    ours = our_prompt(tmp_path / "model", tmp_path, "<image>", saved_photos(tmp_path, (width, height)), template=False)
    assert ours.kinds.count(2) == tokens
    assert ours.grids == [[1, *canvas]]


def test_a_picture_is_never_cut_to_fit_the_context(tmp_path: Path) -> None:
    """F057: 1176 tokens of a picture and three others do not fit into 1024."""
    folder = tmp_path / "model"
    published(folder)
    edit_json(folder / "config.json", **{"text_config.max_position_embeddings": 1024})
    (picture,) = saved_photos(tmp_path, (336, 336))
    said = refusal("prompt", folder, tmp_path, stdin={"text": "<s><image>ab", "images": [str(picture)], "template": False})
    assert "needs 1179 tokens, but the model was made for 1024" in said and "nothing is cut off silently" in said


@pytest.mark.parametrize("settings", [{"resample": 2}, {"do_normalize": False}, {"crop_size": None, "do_center_crop": False},
                                      {"size": {"height": 24, "width": 24}}])
def test_settings_of_the_processor_are_obeyed(tmp_path: Path, settings: dict[str, Any]) -> None:
    recipe = RECIPES["vicuna"]()
    processor = save_processor(tmp_path / "model", recipe, **settings)
    recipe.config.save_pretrained(tmp_path / "model")
    paths = saved_photos(tmp_path, (61, 33))
    check_prompt(our_prompt(tmp_path / "model", tmp_path, "<image>a", paths, template=False),
                 reference_inputs(processor, "<image>a", paths))


# --- logits and answers ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(24, 24), (150, 30), (31, 77)])
def test_answers_equal_the_reference(tiny: Tiny, size: tuple[int, int], tmp_path: Path) -> None:
    folder, _, reference, processor = tiny
    check_answer(folder, tmp_path, (reference, processor), "<s><image>What is it?", size)


def test_two_pictures_keep_their_order(tiny: Tiny, tmp_path: Path) -> None:
    """F072."""
    folder, _, reference, processor = tiny
    check_order(folder, tmp_path, (reference, processor), "<s><image> and <image>differ:")


def test_bf16_is_near_the_reference_in_bf16(tiny: Tiny, tmp_path: Path) -> None:
    folder, _, _, processor = tiny
    check_bf16_answer(folder, tmp_path, LlavaNextForConditionalGeneration, processor, "<s><image>What?")


@pytest.mark.parametrize("layout", [oldest_layout, newest_layout])
def test_other_names_and_older_settings_load_to_the_same_model(tiny: Tiny, tmp_path: Path, layout: Any) -> None:
    """F087: language_model.model.*, image_newline at the top; preprocessor_config.json; rope_scaling."""
    folder, recipe, reference, processor = tiny
    old = tmp_path / "model"
    shutil.copytree(folder, old)
    names = renamed(old, layout)
    assert {"image_newline", "language_model.model.norm.weight"} <= names or "model.image_newline" in names
    processor.image_processor.save_pretrained(old)
    (old / "processor_config.json").unlink()
    edit_json(old / "preprocessor_config.json", image_processor_type="LlavaNextImageProcessor")
    rope = recipe.config.text_config.rope_parameters
    edit_json(old / "config.json", **{"text_config.rope_parameters": None, "text_config.rope_theta": rope["rope_theta"]})
    if rope["rope_type"] == "linear":
        edit_json(old / "config.json", **{"text_config.rope_scaling": {"type": "linear", "factor": rope["factor"]}})
    check_answer(old, tmp_path, (reference, processor), "<s><image>What is it?", (150, 30))


def test_a_damaged_newline_is_not_blamed_on_the_tower(tiny: Tiny, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(tiny[0], model)
    weights = load_file(model / "model.safetensors")
    (name,) = (name for name in weights if name.endswith("image_newline"))
    weights[name][3] = float("nan")
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    (picture,) = saved_photos(tmp_path, (150, 30))
    done = run_program("ecokv", "run", "--model", model, "--image", picture, "--prompt", "<image>What?", "--policy", "full", "--plain-prompt")
    assert done.returncode == 3 and "weights of its image_newline" in done.stderr and "tower" not in done.stderr, done.stderr


# --- where tokens come from -----------------------------------------------------------------------


# Patches a side of a square: columns of features that are left, box of the first one.
WIDE_BY_HAND = {
    # 72 x 24 pixels for 90 x 40, scaled by 0.6 to 54 x 24, 9 pixels beside them. Of 18 columns of features 13.5 hold
    # the picture, rounded down to 13: (18 - 13) // 2 = 2 are cut off at either end. The third begins 8 pixels in.
    6: (14, [-1 / 0.6, 0, 3 / 0.6, 4 / 0.6]),
    # 60 x 20 pixels, scaled by 0.5 to 45 x 20, 7 pixels in front; 11 of 15 columns, 2 cut off at either end.
    5: (11, [1 / 0.5, 0, 5 / 0.5, 4 / 0.5]),
}


def test_boxes_of_a_wide_picture_are_those_worked_out_by_hand(tiny: Tiny, tmp_path: Path) -> None:
    folder, recipe, _, _ = tiny
    ours = our_prompt(folder, tmp_path, "<image>", saved_photos(tmp_path, (90, 40)), template=False)
    thumbnails, patches, newlines = (boxes_of_picture(ours, role) for role in (THUMBNAIL, PATCH, NEWLINE))
    n = recipe.patches
    columns, (x0, y0, x1, y1) = WIDE_BY_HAND[n]
    assert ours.grids == [[1, 1, 3]]
    assert ours.roles == [THUMBNAIL] * (n * n) + ([PATCH] * columns + [NEWLINE]) * n
    assert newlines == [None] * n
    np.testing.assert_allclose(thumbnails[1], [90 / n, 0, 180 / n, 40 / n], atol=1e-4)
    np.testing.assert_allclose(patches[0], [x0, y0, x1, y1], atol=1e-4)
    np.testing.assert_allclose(patches[columns], [x0, y1, x1, 2 * y1], atol=1e-4)


def test_boxes_of_a_rotated_photo_lie_in_the_upright_picture(tiny: Tiny, tmp_path: Path) -> None:
    """F058: stored 80 x 40, seen 40 x 80: two tiles above one another, filled without padding."""
    folder, recipe, _, _ = tiny
    ours = our_prompt(folder, tmp_path, "<image>", [saved_rotated(tmp_path / "a.jpg", 80, 40)], template=False)
    n = recipe.patches
    patches = boxes_of_picture(ours, PATCH)
    assert ours.grids == [[1, 2, 1]] and len(patches) == 2 * n * n
    cell = 40 / n
    np.testing.assert_allclose(patches[0], [0, 0, cell, cell], atol=1e-4)
    np.testing.assert_allclose(patches[-1], [40 - cell, 80 - cell, 40, 80], atol=1e-4)


# --- refusals -------------------------------------------------------------------------------------


@pytest.fixture
def vicuna(tmp_path: Path) -> Path:
    recipe = RECIPES["vicuna"]()
    folder = tmp_path / "model"
    save_processor(folder, recipe)
    recipe.config.save_pretrained(folder)
    saved_photos(tmp_path, (50, 20))
    return folder


def refused(folder: Path) -> str:
    request = {"text": "<image>", "images": [str(folder.parent / "0.png")], "template": False}
    return refusal("prompt", folder, folder.parent, stdin=request)


@pytest.mark.parametrize("change, said", [
    ({"vision_feature_select_strategy": "full"}, "37 features of a tile of 36 patches"),  # F054
    ({"image_grid_pinpoints": [[24, 50]]}, "no whole number of tiles of 24 x 24"),
    ({"image_grid_pinpoints": []}, "at least one entry"),
    ({"image_grid_pinpoints": [[24, "a"]]}, "[height, width]"),
    ({"image_grid_pinpoints": [[48, 48]]}, "leads to 72 x 24 pixels, but that of"),
    ({"vision_feature_layer": []}, "names no layer"),
    ({"vision_feature_layer": [0, 9]}, "= 9 does not exist in a tower of 2 layers"),
])
def test_configurations_that_do_not_fit_are_refused_by_name(vicuna: Path, change: dict[str, Any], said: str) -> None:
    edit_json(vicuna / "config.json", **change)
    assert said in refused(vicuna)


def test_a_processor_of_other_squares_is_refused(vicuna: Path) -> None:
    edit_json(vicuna / "processor_config.json", **{"image_processor.crop_size": {"height": 12, "width": 12}})
    assert "as 12 x 12 pixels" in refused(vicuna) and "takes 24 x 24" in refused(vicuna)
