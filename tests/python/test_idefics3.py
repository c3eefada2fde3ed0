# SPDX-License-Identifier: GPL-3.0-or-later
"""Idefics3 and SmolVLM against transformers: tiles, prompts, logits, answers, and where each token comes from."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from model_probe import refusal
from PIL import Image
from tiny_models import (
    OurPrompt,
    check_bf16,
    check_parity,
    edit_json,
    load_tiny,
    our_prompt,
    save_tiny,
    save_tokenizer,
)
from tiny_pictures import photo, reference_inputs, saved_photos
from transformers import (
    AutoProcessor,
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    Idefics3ImageProcessorFast,
    Idefics3Processor,
    SmolVLMConfig,
    SmolVLMForConditionalGeneration,
    SmolVLMImageProcessorFast,
    SmolVLMProcessor,
    SmolVLMVideoProcessor,
)
from transformers.models.smolvlm import processing_smolvlm

pytestmark = pytest.mark.oracle

IMAGE = 258  # "<image>" of the demo's tokenizer
SPECIALS = ["<fake_token_around_image>", "<end_of_utterance>", "<global-img>",
            *(f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7))]
VOCABULARY = 259 + len(SPECIALS) + 2
# In the style of the family: the words of a message behind its pictures.
TEMPLATE = ("<s>{% for message in messages %}{{ message['role'] | capitalize }}{% if message['content'][0]['type'] == "
            "'image' %}{{ ':' }}{% else %}{{ ': ' }}{% endif %}{% for line in message['content'] %}{% if line['type'] "
            "== 'text' %}{{ line['text'] }}{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}"
            "<end_of_utterance>\n{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}")


class Recipe:
    """A tiny checkpoint: classes, configuration, side of a tile, how many tiles along the longer edge."""

    def __init__(self, family: str, text: dict[str, Any], vision: dict[str, Any], merged: int, tile: int, tiles: int,
                 **top: Any) -> None:
        small = family == "smolvlm"
        self.model = SmolVLMForConditionalGeneration if small else Idefics3ForConditionalGeneration
        self.processor = SmolVLMProcessor if small else Idefics3Processor
        self.images = SmolVLMImageProcessorFast if small else Idefics3ImageProcessorFast
        self.merged, self.tile, self.tiles = merged, tile, tiles
        self.patches = tile // vision["patch_size"]
        self.tokens = (self.patches // merged) ** 2
        config = SmolVLMConfig if small else Idefics3Config
        common = {"model_type": "llama", "vocab_size": VOCABULARY, "bos_token_id": 256, "eos_token_id": 257,
                  "pad_token_id": 257, "max_position_embeddings": 4096}
        self.config = config(text_config=common | text, scale_factor=merged, image_token_id=IMAGE, pad_token_id=257,
                             vision_config={"image_size": tile, "hidden_size": 32, "intermediate_size": 56,
                                            "num_hidden_layers": 2, "num_attention_heads": 4} | vision, **top)


RECIPES = {
    # Grouped queries with a head size of their own, biases, a tied head, llama3 positions.
    "smolvlm": lambda: Recipe(
        "smolvlm", {"hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3, "num_attention_heads": 6,
                    "num_key_value_heads": 2, "head_dim": 20, "attention_bias": True, "mlp_bias": True,
                    "rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0,
                                        "high_freq_factor": 4.0, "original_max_position_embeddings": 256}},
        {"patch_size": 14}, merged=2, tile=56, tiles=4, tie_word_embeddings=True),
    # 25 x 25 patches: shares of 1/25 in f32 fall below their boundaries now and then.
    "idefics3": lambda: Recipe(
        "idefics3", {"hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
                     "num_key_value_heads": 4, "rope_parameters": {"rope_type": "linear", "rope_theta": 1e5, "factor": 2.0}},
        {"patch_size": 3, "hidden_act": "gelu"}, merged=5, tile=75, tiles=2),
}


def save_processor(folder: Path, recipe: Recipe, **settings: Any) -> Any:
    """The family's processor, saved and opened again."""
    tokenizer = save_tokenizer(folder, SPECIALS, TEMPLATE, image_token="<image>")
    images = recipe.images(**{"size": {"longest_edge": recipe.tile * recipe.tiles},
                              "max_image_size": {"longest_edge": recipe.tile}} | settings)
    more = [SmolVLMVideoProcessor()] if recipe.processor is SmolVLMProcessor else []
    recipe.processor(images, tokenizer, *more, image_seq_len=recipe.tokens, chat_template=TEMPLATE).save_pretrained(folder)
    return AutoProcessor.from_pretrained(folder)


@pytest.fixture(autouse=True, scope="module")
def spelt_numbers() -> Any:
    """SmolVLM's processor wants a package that spells numbers, for videos alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processing_smolvlm, "num2words", str)
        yield


@pytest.fixture(scope="module", params=RECIPES)
def tiny(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Recipe, Any, Any]:
    """Folder, recipe, reference, processor."""
    recipe = RECIPES[request.param]()
    folder = tmp_path_factory.mktemp(request.param) / "model"
    processor = save_processor(folder, recipe)
    return folder, recipe, save_tiny(folder, recipe.model, recipe.config), processor


def asked(processor: Any, words: str, paths: list[Path]) -> dict[str, Any]:
    """What the reference makes of the pictures and a question behind them."""
    content = [{"type": "image"} for _ in paths] + [{"type": "text", "text": words}]
    text = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    return reference_inputs(processor, text, paths)


def check_prompt(ours: OurPrompt, inputs: dict[str, Any]) -> None:
    """Ids and pixels; these are equal, not only within 1/255."""
    assert ours.ids == inputs["input_ids"][0].tolist()
    ours_joined = np.concatenate(ours.pixels)
    theirs = inputs["pixel_values"][0].numpy()
    assert ours_joined.shape == theirs.shape
    assert np.abs(ours_joined - theirs).max() <= 1e-6


# --- tiles and prompts ----------------------------------------------------------------------------

SIZES = [(64, 64), (400, 20), (15, 300), (1, 1), (1, 2), (2, 1), (101, 57), (57, 101), (300, 100), (100, 300), (700, 100),
         (56, 56), (225, 224), (1000, 999)]


@pytest.mark.parametrize("size", SIZES)
def test_tiles_and_ids_equal_the_processor(tiny: tuple[Path, Recipe, Any, Any], size: tuple[int, int], tmp_path: Path) -> None:
    """F046 F047 F050 F065 F066: every shape, down to one pixel."""
    folder, recipe, _, processor = tiny
    paths = saved_photos(tmp_path, size)
    ours = our_prompt(folder, tmp_path, "What?", paths)
    inputs = asked(processor, "What?", paths)
    check_prompt(ours, inputs)
    tiles = ours.pixels[0].shape[0]
    assert ours.kinds.count(2) == tiles * recipe.tokens and ours.grids[0][1] * ours.grids[0][2] == tiles - 1


SETTINGS: dict[str, dict[str, Any]] = {
    "bilinear": {"resample": 2},
    "bicubic": {"resample": 3},
    "nearest": {"resample": 0},
    "not split": {"do_image_splitting": False},
    "not resized": {"do_resize": False},
    "as large as a tile": {"size": {"longest_edge": 56}},
    "exact": {"size": {"height": 130, "width": 70}},
    "odd": {"size": {"longest_edge": 151}},
    "beyond the limit": {"size": {"longest_edge": 6000}, "max_image_size": {"longest_edge": 1400}},
    "not normalised": {"do_normalize": False},
    "not rescaled": {"do_rescale": False, "image_mean": [100.0, 110.0, 120.0], "image_std": [50.0, 60.0, 70.0]},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_is_followed(name: str, tmp_path: Path) -> None:
    """Also as older exports have them: preprocessor_config.json, with the count of tokens beside it."""
    recipe = RECIPES["smolvlm"]()
    folder = tmp_path / "model"
    recipe.tokens = 2500 if name == "beyond the limit" else recipe.tokens
    processor = save_processor(folder, recipe, **SETTINGS[name])
    recipe.config.save_pretrained(folder)
    edit_json(folder / "config.json", architectures=["SmolVLMForConditionalGeneration"],
              **{"text_config.max_position_embeddings": 100000})
    paths = saved_photos(tmp_path, (90, 8 if name == "beyond the limit" else 40))
    inputs = asked(processor, "What?", paths)
    check_prompt(our_prompt(folder, tmp_path, "What?", paths), inputs)
    nested = json.loads((folder / "processor_config.json").read_text())
    (folder / "preprocessor_config.json").write_text(json.dumps(nested["image_processor"]))
    (folder / "processor_config.json").write_text(json.dumps({"image_seq_len": recipe.tokens}))
    check_prompt(our_prompt(folder, tmp_path, "What?", paths), inputs)


def test_pictures_keep_their_order(tiny: tuple[Path, Recipe, Any, Any], tmp_path: Path) -> None:
    """F072: two pictures of different shapes, then the other way round."""
    folder, _, _, processor = tiny
    paths = saved_photos(tmp_path, (200, 100), (30, 90))
    for order in (paths, paths[::-1]):
        ours = our_prompt(folder, tmp_path, "Which?", order)
        check_prompt(ours, asked(processor, "Which?", order))
        first = [image for image, kind in zip(ours.image, ours.kinds, strict=True) if kind == 2]
        assert first == sorted(first) and set(first) == {0, 1}


# --- where tokens come from -----------------------------------------------------------------------


@pytest.mark.parametrize("orientation", [1, 6])
def test_boxes_lie_where_the_tiles_were_cut(orientation: int, tmp_path: Path) -> None:
    """200 x 100 becomes 224 x 112, 4 x 2 tiles of 56; a token is 28 pixels of a tile, so 25 of the picture.

    With orientation 6 the file holds it turned (F058).
    """
    recipe = RECIPES["smolvlm"]()
    folder, path = tmp_path / "model", tmp_path / "a.png"
    save_processor(folder, recipe)
    recipe.config.save_pretrained(folder)
    edit_json(folder / "config.json", architectures=["SmolVLMForConditionalGeneration"])
    exif = Image.Exif()
    exif[0x0112] = orientation
    (photo(200, 100) if orientation == 1 else photo(100, 200)).save(path, exif=exif)
    ours = our_prompt(folder, tmp_path, "<s><image>?", [path], template=False)
    picture = [(role, box) for role, box, kind in zip(ours.roles, ours.boxes, ours.kinds, strict=True) if kind == 2]
    assert [role for role, _ in picture] == [0] * 32 + [3] * 4
    boxes = [box for _, box in picture]
    np.testing.assert_allclose(boxes[:4], [[0, 0, 25, 25], [25, 0, 50, 25], [0, 25, 25, 50], [25, 25, 50, 50]], atol=1e-4)
    np.testing.assert_allclose(boxes[4], [50, 0, 75, 25], atol=1e-4)  # second tile of the first row
    np.testing.assert_allclose(boxes[24], [100, 50, 125, 75], atol=1e-4)  # third tile of the second row
    np.testing.assert_allclose(boxes[31], [175, 75, 200, 100], atol=1e-4)
    np.testing.assert_allclose(boxes[32:], [[0, 0, 100, 50], [100, 0, 200, 50], [0, 50, 100, 100], [100, 50, 200, 100]],
                               atol=1e-4)
    # <s>, the wrapper and the place of the first tile; then the same between tiles, one line a row.
    assert ours.kinds[:4] == [1, 1, 1, 2] and ours.roles[7:9] == [2, 2] and ours.image[7:9] == [0, 0]
    assert ours.answer["pictures"][0] == {"resized": [224, 112], "grid": [0, 0]}


def test_a_picture_of_one_tile_is_no_thumbnail(tmp_path: Path) -> None:
    """90 x 30 squeezed into one tile of 56: its 2 x 2 tokens are 45 x 15."""
    recipe = RECIPES["smolvlm"]()
    folder = tmp_path / "model"
    save_processor(folder, recipe, do_image_splitting=False)
    recipe.config.save_pretrained(folder)
    edit_json(folder / "config.json", architectures=["SmolVLMForConditionalGeneration"])
    ours = our_prompt(folder, tmp_path, "<s><image>?", saved_photos(tmp_path, (90, 30)), template=False)
    tokens = [i for i, kind in enumerate(ours.kinds) if kind == 2]
    assert [ours.roles[i] for i in tokens] == [0] * 4
    np.testing.assert_allclose([ours.boxes[i] for i in tokens],
                               [[0, 0, 45, 15], [45, 0, 90, 15], [0, 15, 45, 30], [45, 15, 90, 30]], atol=1e-4)


# --- refusals -------------------------------------------------------------------------------------


def test_what_does_not_fit_is_refused_with_both_numbers(tmp_path: Path) -> None:
    """F054 F055 F057."""
    recipe = RECIPES["smolvlm"]()
    folder = tmp_path / "model"
    save_processor(folder, recipe)
    recipe.config.save_pretrained(folder)
    edit_json(folder / "config.json", architectures=["SmolVLMForConditionalGeneration"])
    paths = [str(path) for path in saved_photos(tmp_path, (64, 64), (20, 40))]

    def said(**request: Any) -> str:
        return refusal("prompt", folder, tmp_path, stdin=request)

    assert "1 picture marker(s) <image>, but 2 picture(s)" in said(text="<image>", images=paths, template=False)
    assert "2 picture marker(s) <image>, but 1 picture(s)" in said(text="<image>", images=paths[:1])
    edit_json(folder / "config.json", **{"text_config.max_position_embeddings": 60})
    assert "made for 60" in said(text="What?", images=paths)
    edit_json(folder / "processor_config.json", image_seq_len=169)
    sentence = said(text="What?", images=paths)
    assert "169" in sentence and "gives 4 tokens for a tile" in sentence
    edit_json(folder / "processor_config.json", **{"image_processor.max_image_size": {"longest_edge": 42}})
    sentence = said(text="What?", images=paths)
    assert "tiles of 42 pixels" in sentence and "patches of 14 pixels, 2 x 2" in sentence


# --- the whole model ------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[], [(120, 50)], [(40, 90), (64, 64)]], ids=lambda sizes: f"{len(sizes)} pictures")
def test_logits_and_answers_equal_the_reference(tiny: tuple[Path, Recipe, Any, Any], sizes: list[tuple[int, int]],
                                                tmp_path: Path) -> None:
    folder, _, reference, processor = tiny
    paths = saved_photos(tmp_path, *sizes)
    if not paths:
        check_parity(folder, tmp_path / "out", reference, ids=[256, *b"Hello\nworld"])
        return
    check_parity(folder, tmp_path / "out", reference, inputs=asked(processor, "What is it?", paths),
                 text="What is it?", images=paths, template=True)


def test_both_spellings_of_rope_scaling_are_read(tiny: tuple[Path, Recipe, Any, Any], tmp_path: Path) -> None:
    folder, _, reference, _ = tiny
    config = json.loads((folder / "config.json").read_text())
    parameters = dict(config["text_config"]["rope_parameters"])
    theta = parameters.pop("rope_theta")
    older = tmp_path / "model"
    older.mkdir()
    for path in folder.iterdir():
        (older / path.name).symlink_to(path)
    (older / "config.json").unlink()
    config["text_config"] |= {"rope_theta": theta, "rope_scaling": parameters}
    del config["text_config"]["rope_parameters"]
    (older / "config.json").write_text(json.dumps(config))
    check_parity(older, tmp_path / "out", reference, ids=[256, *np.random.default_rng(2).integers(32, 127, 400).tolist()])


def check_bf16_of(folder: Path, out: Path, model: Any, processor: Any) -> None:
    paths = saved_photos(out, (120, 50))
    check_bf16(folder, out, load_tiny(folder, model, torch.bfloat16), asked(processor, "What is it?", paths),
               text="What is it?", images=[str(path) for path in paths])


def test_bf16_follows_the_reference(tiny: tuple[Path, Recipe, Any, Any], tmp_path: Path) -> None:
    folder, recipe, _, processor = tiny
    check_bf16_of(folder, tmp_path / "out", recipe.model, processor)


def test_bf16_follows_the_reference_where_its_positions_fall_together(tmp_path: Path) -> None:
    """27 x 27 patches, as SmolVLM has them: in bf16 the shares of neighbours round to the same row of the table."""
    recipe = Recipe("smolvlm", {"hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2,
                                "num_attention_heads": 4, "num_key_value_heads": 2},
                    {"patch_size": 4}, merged=3, tile=108, tiles=2)
    folder = tmp_path / "model"
    processor = save_processor(folder, recipe)
    save_tiny(folder, recipe.model, recipe.config, dtype=torch.bfloat16)
    check_bf16_of(folder, tmp_path / "out", recipe.model, processor)
