# SPDX-License-Identifier: GPL-3.0-or-later
"""InternVL against transformers: tiles, prompts, logits, answers, and where each token comes from."""
from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoint_names import newest_layout, oldest_layout, renamed
from model_probe import refusal
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
    GotOcr2ImageProcessorFast,
    InternVLConfig,
    InternVLForConditionalGeneration,
    InternVLProcessor,
    InternVLVideoProcessor,
)

pytestmark = pytest.mark.oracle

SPECIALS = ["<img>", "</img>", "<IMG_CONTEXT>", "<video>"]  # ids 259 to 262
IMAGE = 261
VOCABULARY = 264
PATCH, THUMBNAIL = 0, 3
MARKER = "<IMG_CONTEXT>"
# In the style of the family: ChatML, a line for every picture.
TEMPLATE = ("{% for message in messages %}{{ '<s>' + message['role'] + '\n' }}{% for part in message['content'] %}"
            "{% if part['type'] == 'image' %}{{ '<IMG_CONTEXT>\n' }}{% else %}{{ part['text'] }}{% endif %}{% endfor %}"
            "{{ '</s>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<s>assistant\n' }}{% endif %}")
TEXT = {"vocab_size": VOCABULARY, "bos_token_id": 256, "eos_token_id": 257, "max_position_embeddings": 4096}


class Recipe:
    """A tiny checkpoint: configuration, side of a tile, tokens of a tile, how many tiles."""

    def __init__(self, text: dict[str, Any], vision: dict[str, Any], tiles: tuple[int, int], seed: int,
                 **top: Any) -> None:
        self.seed = seed  # whose answers say different things
        self.side, self.tiles = vision["image_size"][0], tiles
        self.n = self.side // vision["patch_size"][0] // round(1 / top.get("downsample_ratio", 0.5))
        self.config = InternVLConfig(
            vision_config={"hidden_size": 32, "intermediate_size": 56, "num_hidden_layers": 2,
                           "num_attention_heads": 4} | vision,
            text_config=TEXT | text, image_token_id=IMAGE, image_seq_length=self.n**2, **top)


RECIPES = {
    # InternVL3: Qwen2 with grouped queries, mean pooling (no last norm), biases in the tower.
    "qwen2": lambda: Recipe(
        {"model_type": "qwen2", "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 6,
         "num_key_value_heads": 2, "rope_parameters": {"rope_type": "linear", "rope_theta": 1e6, "factor": 2.0}},
        {"image_size": [24, 24], "patch_size": [4, 4], "attention_bias": True}, (1, 6), 0, tie_word_embeddings=False),
    # The large tower: norms of queries and keys, RMS norms; a tied head with a size of its own; no shuffle but 3 to 1.
    "llama": lambda: Recipe(
        {"model_type": "llama", "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 20, "attention_bias": True},
        {"image_size": [30, 30], "patch_size": [5, 5], "use_qk_norm": True, "norm_type": "rms_norm", "hidden_act": "gelu_new",
         "use_mean_pooling": False, "use_mask_token": True}, (2, 12), 3, tie_word_embeddings=True),
    # Features of an earlier layer, no position embeddings.
    "early": lambda: Recipe(
        {"model_type": "qwen2", "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 4},
        {"image_size": [24, 24], "patch_size": [4, 4], "use_absolute_position_embeddings": False, "use_mean_pooling": False},
        (1, 3), 0, tie_word_embeddings=True, vision_feature_layer=-2, projector_hidden_act="relu"),
}


def save_processor(folder: Path, recipe: Recipe, **settings: Any) -> Any:
    """The family's processor, saved and opened again."""
    names = {"start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": MARKER,
             "video_token": "<video>"}
    tokenizer = save_tokenizer(folder, SPECIALS, TEMPLATE, extra_special_tokens=names)
    images = GotOcr2ImageProcessorFast(**{"size": {"height": recipe.side, "width": recipe.side}, "crop_to_patches": True,
                                          "min_patches": recipe.tiles[0], "max_patches": recipe.tiles[1]} | settings)
    InternVLProcessor(images, tokenizer, InternVLVideoProcessor(), image_seq_length=recipe.n**2,
                      chat_template=TEMPLATE).save_pretrained(folder)
    return AutoProcessor.from_pretrained(folder)


Tiny = tuple[Path, Recipe, Any, Any]  # folder, recipe, reference, processor


@pytest.fixture(scope="module", params=RECIPES)
def tiny(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    recipe = RECIPES[request.param]()
    folder = tmp_path_factory.mktemp(request.param) / "model"
    processor = save_processor(folder, recipe)
    return folder, recipe, save_tiny(
        folder, InternVLForConditionalGeneration, recipe.config, seed=recipe.seed), processor


def check_prompt(ours: OurPrompt, inputs: dict[str, Any]) -> None:
    assert ours.ids == inputs["input_ids"][0].tolist()
    ours_joined, theirs = np.concatenate(ours.pixels), inputs["pixel_values"].numpy()
    assert ours_joined.shape == theirs.shape
    assert np.abs(ours_joined - theirs).max() <= 1e-6


# --- tiles and prompts ----------------------------------------------------------------------------

SIZES = [(24, 24), (400, 20), (15, 300), (1, 1), (1, 2), (2, 1), (300, 1), (101, 57), (57, 101), (300, 100), (100, 300),
         (700, 100), (48, 24), (47, 49), (225, 224), (500, 333), (40, 80), (80, 40)]


def test_tiles_and_ids_equal_the_processor(tiny: Tiny, tmp_path: Path) -> None:
    """F046 F047 F055 F065 F066: every shape down to one pixel, all in one prompt."""
    folder, _, _, processor = tiny
    paths = saved_photos(tmp_path, *SIZES)
    text = "<s>" + "".join(f"{MARKER}{i} " for i in range(len(paths)))
    ours = our_prompt(folder, tmp_path, text, paths, template=False)
    check_prompt(ours, reference_inputs(processor, text, paths))


def test_template_and_processor_give_the_same_prompt(tiny: Tiny, tmp_path: Path) -> None:
    folder, recipe, _, processor = tiny
    paths = saved_photos(tmp_path, (30, 90), (24, 24))
    content = [{"type": "image"}, {"type": "image"}, {"type": "text", "text": "Compare."}]
    text = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    ours = our_prompt(folder, tmp_path, "Compare.", paths)
    check_prompt(ours, reference_inputs(processor, text, paths))
    assert ours.kinds.count(2) == sum(len(pixels) for pixels in ours.pixels) * recipe.n**2


# --- logits and answers ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(24, 24), (150, 30), (31, 77)])
def test_answers_equal_the_reference(tiny: Tiny, size: tuple[int, int], tmp_path: Path) -> None:
    folder, _, reference, processor = tiny
    check_answer(folder, tmp_path, (reference, processor), f"<s>{MARKER}What is it?", size)


def test_two_pictures_keep_their_order(tiny: Tiny, tmp_path: Path) -> None:
    """F072."""
    folder, _, reference, processor = tiny
    check_order(folder, tmp_path, (reference, processor), f"<s>{MARKER} and {MARKER}differ:")


def test_bf16_is_near_the_reference_in_bf16(tiny: Tiny, tmp_path: Path) -> None:
    folder, _, _, processor = tiny
    check_bf16_answer(folder, tmp_path, InternVLForConditionalGeneration, processor, f"<s>{MARKER}What?")


@pytest.mark.parametrize("layout", [oldest_layout, newest_layout])
def test_other_names_and_older_settings_load_to_the_same_model(tiny: Tiny, tmp_path: Path, layout: Any) -> None:
    """F087: language_model.model.*; settings of pictures in preprocessor_config.json; rope_scaling."""
    folder, recipe, reference, processor = tiny
    old = tmp_path / "model"
    shutil.copytree(folder, old)
    names = renamed(old, layout)
    assert {"language_model.model.norm.weight", "vision_tower.embeddings.cls_token"} <= names or (
        "model.vision_tower.embeddings.cls_token" in names)
    processor.image_processor.save_pretrained(old)
    (old / "processor_config.json").write_text(json.dumps({"image_seq_length": recipe.n**2}), "utf-8")
    edit_json(old / "preprocessor_config.json", image_processor_type="GotOcr2ImageProcessor")
    rope = recipe.config.text_config.rope_parameters
    edit_json(old / "config.json", **{"text_config.rope_parameters": None, "text_config.rope_theta": rope["rope_theta"]})
    if rope["rope_type"] == "linear":
        edit_json(old / "config.json", **{"text_config.rope_scaling": {"type": "linear", "factor": rope["factor"]}})
    check_answer(old, tmp_path, (reference, processor), f"<s>{MARKER}What is it?", (150, 30))


# --- where tokens come from -----------------------------------------------------------------------


def test_boxes_of_a_wide_picture_are_those_worked_out_by_hand(tiny: Tiny, tmp_path: Path) -> None:
    """90 x 30: three tiles in a row, each a square of 30 pixels, then the whole as a thumbnail."""
    folder, recipe, _, _ = tiny
    ours = our_prompt(folder, tmp_path, MARKER, saved_photos(tmp_path, (90, 30)), template=False)
    n, cell = recipe.n, 30 / recipe.n
    assert ours.grids == [[1, 1, 3]]
    roles = [role for role, kind in zip(ours.roles, ours.kinds, strict=True) if kind == 2]
    assert roles == [PATCH] * (3 * n * n) + [THUMBNAIL] * (n * n)
    patches, thumbnails = boxes_of_picture(ours, PATCH), boxes_of_picture(ours, THUMBNAIL)
    np.testing.assert_allclose(patches[1], [cell, 0, 2 * cell, cell], atol=1e-4)
    np.testing.assert_allclose(patches[n * n + n], [30, cell, 30 + cell, 2 * cell], atol=1e-4)  # second tile, second row
    np.testing.assert_allclose(thumbnails[-1], [90 - 3 * cell, 30 - cell, 90, 30], atol=1e-4)


def test_boxes_of_a_rotated_photo_lie_in_the_upright_picture(tiny: Tiny, tmp_path: Path) -> None:
    """F058: stored 80 x 40, seen 40 x 80: two tiles above one another and a thumbnail."""
    folder, recipe, _, _ = tiny
    ours = our_prompt(folder, tmp_path, MARKER, [saved_rotated(tmp_path / "a.jpg", 80, 40)], template=False)
    n, cell = recipe.n, 40 / recipe.n
    assert ours.grids == [[1, 2, 1]]
    patches, thumbnails = boxes_of_picture(ours, PATCH), boxes_of_picture(ours, THUMBNAIL)
    np.testing.assert_allclose(patches[n * n], [0, 40, cell, 40 + cell], atol=1e-4)
    np.testing.assert_allclose(thumbnails[0], [0, 0, cell, 2 * cell], atol=1e-4)


def test_a_single_tile_is_the_picture_itself(tmp_path: Path) -> None:
    recipe = RECIPES["qwen2"]()
    save_processor(tmp_path / "model", recipe)
    recipe.config.save_pretrained(tmp_path / "model")
    ours = our_prompt(tmp_path / "model", tmp_path, MARKER, saved_photos(tmp_path, (12, 12)), template=False)
    assert [role for role, kind in zip(ours.roles, ours.kinds, strict=True) if kind == 2] == [PATCH] * recipe.n**2
    np.testing.assert_allclose(boxes_of_picture(ours, PATCH)[-1], [8, 8, 12, 12], atol=1e-4)


# --- refusals -------------------------------------------------------------------------------------


@pytest.fixture
def qwen2(tmp_path: Path) -> Path:
    recipe = RECIPES["qwen2"]()
    folder = tmp_path / "model"
    save_processor(folder, recipe)
    recipe.config.save_pretrained(folder)
    saved_photos(tmp_path, (50, 20))
    return folder


def refused(folder: Path) -> str:
    request = {"text": MARKER, "images": [str(folder.parent / "0.png")], "template": False}
    return refusal("prompt", folder, folder.parent, stdin=request)


@pytest.mark.parametrize("change, said", [
    ({"vision_feature_select_strategy": "full"}, "37 features of a tile of 36 patches"),  # F054
    ({"downsample_ratio": 0.4}, "does not shrink a grid of 6 x 6 features evenly"),
    ({"downsample_ratio": 0.25}, "does not shrink a grid of 6 x 6 features evenly"),
    ({"downsample_ratio": 1.0}, "image_seq_length = 9, but the tower"),
    ({"vision_feature_layer": 7}, "= 7 does not exist in a tower of 2 layers"),
    ({"vision_config.norm_type": "batch_norm"}, "norm_type = \"batch_norm\" is unknown"),
    ({"vision_config.image_size": [24, 48]}, "must be a square"),
    ({"vision_config.image_size": 48}, "image_seq_length = 9, but the tower"),
])
def test_configurations_that_do_not_fit_are_refused_by_name(qwen2: Path, change: dict[str, Any], said: str) -> None:
    edit_json(qwen2 / "config.json", **change)
    assert said in refused(qwen2)


def test_tiles_of_another_size_than_the_tower_takes_are_refused(qwen2: Path) -> None:
    edit_json(qwen2 / "processor_config.json", **{"image_processor.size": {"height": 48, "width": 48}})
    assert "makes tiles of 48 x 48 pixels" in refused(qwen2)
