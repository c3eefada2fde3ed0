# SPDX-License-Identifier: GPL-3.0-or-later
"""Gemma 3 against transformers: pixels, prompts, logits, answers, and where each token comes from."""
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from checkpoint_names import newest_layout, oldest_layout
from model_probe import refusal
from PIL import Image
from safetensors.torch import load_file, save_file
from tiny_models import (
    check_bf16,
    check_parity,
    edit_json,
    load_tiny,
    our_prompt,
    save_tiny,
    save_tokenizer,
)
from tiny_pictures import photo, reference_inputs, saved_photos
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)
from transformers import (
    AutoProcessor,
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    Gemma3ImageProcessorFast,
    Gemma3Processor,
    PreTrainedTokenizerFast,
)

pytestmark = pytest.mark.oracle

# Behind the ids of the demo's tokenizer.
IMAGE, BEGIN, END = 259, 260, 261
SPECIALS = ["<image_soft_token>", "<start_of_image>", "<end_of_image>", "<start_of_turn>", "<end_of_turn>"]
VOCABULARY = 268
SIDE = 48  # pixels
SPREAD = 0.05  # with larger embeddings a tied head only repeats the last token
TEMPLATE = ("{{ bos_token }}{% for message in messages %}{% set role = 'model' if message['role'] == 'assistant' else "
            "message['role'] %}{{ '<start_of_turn>' + role + '\n' }}{% if message['content'] is string %}{{ "
            "message['content'] | trim }}{% else %}{% for item in message['content'] %}{% if item['type'] == 'image' %}"
            "{{ '<start_of_image>' }}{% elif item['type'] == 'text' %}{{ item['text'] | trim }}{% endif %}{% endfor %}"
            "{% endif %}{{ '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}"
            "{% endif %}")
TEXT = {"vocab_size": VOCABULARY, "bos_token_id": 256, "eos_token_id": 257, "pad_token_id": 257, "hidden_size": 48,
        "max_position_embeddings": 4096}
RECIPES: dict[str, dict[str, Any]] = {
    # A head size of its own, grouped queries, a tied head; 12 x 12 patches averaged to 4 x 4 tokens. The window is
    # shorter than a picture.
    "grouped": {
        "text": {"intermediate_size": 72, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
                 "head_dim": 20, "query_pre_attn_scalar": 24, "sliding_window": 10, "sliding_window_pattern": 2,
                 "rope_parameters": {"full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
                                     "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}},
        "vision": {"patch_size": 4, "vision_use_head": False}, "tokens": 16, "tied": True},
    # One KV head per query head, biases, a head of its own; patches become tokens as they are. The tower has a pooling
    # head that nobody reads.
    "plain": {
        "text": {"intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 3, "num_key_value_heads": 3,
                 "head_dim": 16, "query_pre_attn_scalar": 16, "sliding_window": 512, "attention_bias": True,
                 "layer_types": ["full_attention", "sliding_attention", "full_attention"]},
        "vision": {"patch_size": 8, "hidden_act": "gelu"}, "tokens": 36, "tied": False},
}


def config_of(recipe: dict[str, Any]) -> Gemma3Config:
    vision = {"image_size": SIDE, "hidden_size": 32, "intermediate_size": 56, "num_hidden_layers": 2,
              "num_attention_heads": 4} | recipe["vision"]
    return Gemma3Config(text_config=TEXT | recipe["text"], vision_config=vision, mm_tokens_per_image=recipe["tokens"],
                        boi_token_index=BEGIN, eoi_token_index=END, image_token_index=IMAGE,
                        tie_word_embeddings=recipe["tied"], eos_token_id=257, bos_token_id=256, pad_token_id=257)


def save_processor(folder: Path, tokens: int, **settings: Any) -> Any:
    """The family's processor, saved and opened again."""
    tokenizer = save_tokenizer(folder, SPECIALS, TEMPLATE, extra_special_tokens={
        "image_token": "<image_soft_token>", "boi_token": "<start_of_image>", "eoi_token": "<end_of_image>"})
    images = Gemma3ImageProcessorFast(**{"size": {"height": SIDE, "width": SIDE}} | settings)
    Gemma3Processor(images, tokenizer, chat_template=TEMPLATE, image_seq_length=tokens).save_pretrained(folder)
    return AutoProcessor.from_pretrained(folder)


Tiny = tuple[Path, dict[str, Any], Any, Any]


@pytest.fixture(scope="module", params=RECIPES)
def tiny(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """Folder, recipe, reference, processor."""
    recipe = RECIPES[request.param]
    folder = tmp_path_factory.mktemp(request.param) / "model"
    processor = save_processor(folder, recipe["tokens"])
    return folder, recipe, save_tiny(folder, Gemma3ForConditionalGeneration, config_of(recipe), spread=SPREAD), processor


def folder_without_weights(tmp_path: Path, name: str, **settings: Any) -> tuple[Path, Any]:
    recipe = RECIPES[name]
    processor = save_processor(tmp_path / "model", recipe["tokens"], **settings)
    config_of(recipe).save_pretrained(tmp_path / "model")
    edit_json(tmp_path / "model" / "config.json", architectures=["Gemma3ForConditionalGeneration"])
    return tmp_path / "model", processor


def asked(processor: Any, words: str, paths: list[Path]) -> dict[str, Any]:
    """What the reference makes of the pictures and a question behind them."""
    content = [{"type": "image"} for _ in paths] + [{"type": "text", "text": words}]
    text = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    return reference_inputs(processor, text, paths)


def linked(folder: Path, copy: Path, without: str) -> Path:
    """The checkpoint again but for one file."""
    copy.mkdir()
    for path in folder.iterdir():
        if path.name != without:
            (copy / path.name).symlink_to(path)
    return copy


# --- pixels and prompts ---------------------------------------------------------------------------

SIZES = [(64, 64), (400, 20), (15, 300), (1, 1), (1, 2), (2, 1), (101, 57), (700, 100), (100, 700), (48, 48)]


@pytest.mark.parametrize("size", SIZES)
def test_pixels_and_ids_equal_the_processor(tiny: Tiny, size: tuple[int, int], tmp_path: Path) -> None:
    """F046 F054 F065 F066: every shape, down to one pixel, becomes one square and the same number of tokens."""
    folder, recipe, _, processor = tiny
    paths = saved_photos(tmp_path, size)
    ours = our_prompt(folder, tmp_path, "What?", paths)
    inputs = asked(processor, "What?", paths)
    assert ours.ids == inputs["input_ids"][0].tolist()
    assert ours.kinds.count(2) == recipe["tokens"]
    assert np.abs(ours.pixels[0] - inputs["pixel_values"][0].numpy()).max() <= 1e-6


@pytest.mark.parametrize("settings", [{"resample": 3}, {"resample": 0}, {"do_normalize": False}, {"do_resize": False},
                                      {"image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.3, 0.4]}], ids=str)
def test_every_setting_is_followed(settings: dict[str, Any], tmp_path: Path) -> None:
    """Also as older exports have them, in preprocessor_config.json."""
    folder, processor = folder_without_weights(tmp_path, "grouped", **settings)
    paths = saved_photos(tmp_path, (48, 48) if "do_resize" in settings else (90, 40))
    theirs = asked(processor, "What?", paths)["pixel_values"][0].numpy()
    assert np.abs(our_prompt(folder, tmp_path, "What?", paths).pixels[0] - theirs).max() <= 1e-6
    nested = json.loads((folder / "processor_config.json").read_text())
    (folder / "preprocessor_config.json").write_text(json.dumps(nested["image_processor"]))
    (folder / "processor_config.json").write_text(json.dumps({"image_seq_length": 16}))
    assert np.abs(our_prompt(folder, tmp_path, "What?", paths).pixels[0] - theirs).max() <= 1e-6


def trained_tokenizer() -> Tokenizer:
    """In the style of Gemma's: spaces as U+2581, runs of line feeds as tokens of their own, bytes for what is rare."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    words = ["<pad>", "</s>", "<s>", "<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=340, special_tokens=words, show_progress=False)
    tokenizer.train_from_iterator(["what is the word in the picture and where does it stand", "user model"] * 9, trainer)
    tokenizer.add_tokens([AddedToken("\n" * count, normalized=False) for count in range(1, 5)])
    tokenizer.add_special_tokens(["<s>", "</s>"])
    return tokenizer


def test_ids_of_a_trained_tokenizer_equal_the_processor(tmp_path: Path) -> None:
    """The line feeds that the processor writes join those of the template to other tokens."""
    folder = tmp_path / "model"
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=trained_tokenizer(), bos_token="<s>", eos_token="</s>", extra_special_tokens={
            "image_token": "<image_soft_token>", "boi_token": "<start_of_image>", "eoi_token": "<end_of_image>"})
    tokenizer.add_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIALS[3:]])
    Gemma3Processor(Gemma3ImageProcessorFast(size={"height": SIDE, "width": SIDE}), tokenizer, chat_template=TEMPLATE,
                    image_seq_length=16).save_pretrained(folder)
    config = config_of(RECIPES["grouped"])
    config.text_config.vocab_size = len(tokenizer)
    config.save_pretrained(folder)
    names = dict(zip(("image_token_index", "boi_token_index", "eoi_token_index"),
                     tokenizer.convert_tokens_to_ids(SPECIALS[:3]), strict=True))
    edit_json(folder / "config.json", architectures=["Gemma3ForConditionalGeneration"], **names)
    paths = saved_photos(tmp_path, (50, 40), (20, 90))
    words = "  what is  the word?\n\n\u00e9\U0001f600 \n Where\t"
    inputs = asked(AutoProcessor.from_pretrained(folder), words, paths)
    ours = our_prompt(folder, tmp_path, words, paths)
    assert ours.ids == inputs["input_ids"][0].tolist()
    assert ours.kinds.count(2) == 32


def test_pictures_keep_their_order(tiny: Tiny, tmp_path: Path) -> None:
    """F072: two pictures of different shapes, then the other way round."""
    folder, recipe, _, processor = tiny
    paths = saved_photos(tmp_path, (200, 100), (30, 90))
    for order in (paths, paths[::-1]):
        ours = our_prompt(folder, tmp_path, "Which?", order)
        inputs = asked(processor, "Which?", order)
        assert ours.ids == inputs["input_ids"][0].tolist()
        assert np.abs(np.stack(ours.pixels) - inputs["pixel_values"].numpy()).max() <= 1e-6
        images = [image for image, kind in zip(ours.image, ours.kinds, strict=True) if kind == 2]
        assert images == [0] * recipe["tokens"] + [1] * recipe["tokens"]


@pytest.mark.parametrize("orientation", [1, 6])
def test_boxes_are_the_squares_that_are_averaged(orientation: int, tmp_path: Path) -> None:
    """200 x 100 squeezed into 48 x 48: a token of 12 pixels is 50 x 25 of the picture.

    With orientation 6 the file holds it turned (F058).
    """
    folder, _ = folder_without_weights(tmp_path, "grouped")
    exif = Image.Exif()
    exif[0x0112] = orientation
    (photo(200, 100) if orientation == 1 else photo(100, 200)).save(tmp_path / "a.png", exif=exif)
    ours = our_prompt(folder, tmp_path, "<s>?<start_of_image>!", [tmp_path / "a.png"], template=False)
    # <s> ? \n\n <start_of_image>, 16 tokens, <end_of_image> \n\n !
    assert ours.kinds == [1, 0, 0, 0, 1] + [2] * 16 + [1, 0, 0, 0]
    assert ours.roles[5:21] == [0] * 16
    np.testing.assert_allclose(ours.boxes[5:10], [[0, 0, 50, 25], [50, 0, 100, 25], [100, 0, 150, 25], [150, 0, 200, 25],
                                                  [0, 25, 50, 50]], atol=1e-4)
    np.testing.assert_allclose(ours.boxes[20], [150, 75, 200, 100], atol=1e-4)
    assert ours.answer["pictures"][0] == {"resized": [48, 48], "grid": [4, 4]}


# --- refusals -------------------------------------------------------------------------------------


def test_pan_and_scan_is_refused(tmp_path: Path) -> None:
    folder, _ = folder_without_weights(tmp_path, "grouped", do_pan_and_scan=True)
    paths = [str(path) for path in saved_photos(tmp_path, (200, 100))]
    sentence = refusal("prompt", folder, tmp_path, stdin={"text": "What?", "images": paths})
    assert "do_pan_and_scan" in sentence and "Set do_pan_and_scan to false" in sentence


def test_what_does_not_fit_is_refused_with_both_numbers(tmp_path: Path) -> None:
    """F054 F055."""
    folder, _ = folder_without_weights(tmp_path, "grouped")
    paths = [str(path) for path in saved_photos(tmp_path, (64, 64), (20, 40))]

    def said(**request: Any) -> str:
        return refusal("prompt", folder, tmp_path, stdin=request)

    assert "1 picture marker(s) <start_of_image>, but 2 picture(s)" in said(
        text="<start_of_image>", images=paths, template=False)
    soft = said(text="What is <image_soft_token>?", images=paths[:1])
    assert "The words hold <image_soft_token>" in soft and "a whole picture is marked by <start_of_image>" in soft
    edit_json(folder / "processor_config.json", **{"image_processor.size": {"height": 32, "width": 48}})
    assert "48 x 32" in said(text="?", images=paths[:1]) and "48 x 48" in said(text="?", images=paths[:1])
    edit_json(folder / "processor_config.json", image_seq_length=256)
    assert "256" in said(text="?", images=paths[:1]) and "gives 16 tokens" in said(text="?", images=paths[:1])
    edit_json(folder / "config.json", boi_token_index=999)
    edit_json(folder / "processor_config.json", image_seq_length=16)
    assert "boi_token_index is 999" in said(text="?", images=paths[:1])
    edit_json(folder / "config.json", mm_tokens_per_image=25)
    assert "mm_tokens_per_image = 25" in said(text="?", images=paths[:1]) and "12 x 12" in said(text="?", images=[])


# --- the whole model ------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[], [(120, 50)], [(40, 90), (64, 64)]], ids=lambda sizes: f"{len(sizes)} pictures")
def test_logits_and_answers_equal_the_reference(tiny: Tiny, sizes: list[tuple[int, int]], tmp_path: Path) -> None:
    """Tokens of a picture see each other both ways, also where it is longer than the window."""
    folder, _, reference, processor = tiny
    if not sizes:
        check_parity(folder, tmp_path / "out", reference, ids=[256, *b"Hello\nworld, and all who live in it"])
        return
    paths = saved_photos(tmp_path, *sizes)
    check_parity(folder, tmp_path / "out", reference, inputs=asked(processor, "What is it?", paths),
                 text="What is it?", images=paths, template=True)


def test_older_spellings_of_the_configuration_are_read(tiny: Tiny, tmp_path: Path) -> None:
    """As in the folders on the hub: positions in four keys, a pattern in place of a list of layers."""
    folder, recipe, reference, _ = tiny
    config = json.loads((folder / "config.json").read_text())
    text = config["text_config"]
    full = dict(text["rope_parameters"]["full_attention"])
    text |= {"rope_theta": full.pop("rope_theta"), "rope_scaling": full if "factor" in full else None,
             "rope_local_base_freq": text.pop("rope_parameters")["sliding_attention"]["rope_theta"]}
    if "sliding_window_pattern" in recipe["text"]:
        del text["layer_types"]
    del text["tie_word_embeddings"], text["model_type"]
    copy = linked(folder, tmp_path / "model", "config.json")
    (copy / "config.json").write_text(json.dumps(config))
    check_parity(copy, tmp_path / "out", reference, ids=[256, *np.random.default_rng(2).integers(32, 127, 300).tolist()])


@pytest.mark.parametrize("layout", [oldest_layout, newest_layout])
def test_both_layouts_of_names_load_to_the_same_model(tiny: Tiny, layout: Callable[[str], str], tmp_path: Path) -> None:
    """F087."""
    folder, _, reference, processor = tiny
    copy = linked(folder, tmp_path / "model", "model.safetensors")
    tensors = {layout(name): tensor.clone() for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(tensors, copy / "model.safetensors", {"format": "pt"})
    paths = saved_photos(tmp_path, (120, 50))
    check_parity(copy, tmp_path / "out", reference, inputs=asked(processor, "What is it?", paths),
                 text="What is it?", images=paths, template=True)


def test_bf16_follows_the_reference(tiny: Tiny, tmp_path: Path) -> None:
    folder, _, _, processor = tiny
    reference = load_tiny(folder, Gemma3ForConditionalGeneration, torch.bfloat16)
    paths = saved_photos(tmp_path, (120, 50))
    check_bf16(folder, tmp_path / "out", reference, asked(processor, "What is it?", paths),
               text="What is it?", images=[str(path) for path in paths])
