# SPDX-License-Identifier: GPL-3.0-or-later
"""LLaVA-1.5 with its towers, selections and processors against transformers; the folder people have on disk."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from checkpoint_names import oldest_layout, renamed
from model_probe import refusal
from safetensors.torch import load_file, save_file
from tiny_models import (
    OurPrompt,
    check_parity,
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
from tokenizers import Tokenizer, decoders, models, normalizers
from transformers import (
    AutoProcessor,
    CLIPImageProcessorFast,
    CLIPVisionConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaImageProcessorFast,
    LlavaProcessor,
    SiglipImageProcessorFast,
    SiglipVisionConfig,
)

pytestmark = pytest.mark.oracle

IMAGE = 258  # "<image>" of the demo's tokenizer
VOCABULARY = 260
TEXT = {"vocab_size": VOCABULARY, "bos_token_id": 256, "eos_token_id": 257, "max_position_embeddings": 4096}
VISION = {"hidden_size": 32, "intermediate_size": 56, "num_hidden_layers": 3, "num_attention_heads": 4,
          "patch_size": 6, "image_size": 30}  # 5 x 5 patches


class Recipe:
    """A tiny checkpoint: configuration, image processor, tokens of a picture."""

    def __init__(self, vision: Any, text: dict[str, Any], images: Any, strategy: str, seed: int, **top: Any) -> None:
        self.images, self.strategy, self.seed = images, strategy, seed  # a seed whose answers say different things
        self.class_tokens = 1 if vision is CLIPVisionConfig else 0
        self.tokens = 25 + self.class_tokens - (strategy == "default")
        self.config = LlavaConfig(vision_config=vision(**VISION).to_dict(), text_config=TEXT | text, image_token_index=IMAGE,
                                  vision_feature_select_strategy=strategy, **top)


QWEN2 = {"model_type": "qwen2", "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 6,
         "num_key_value_heads": 2}
MISTRAL = {"model_type": "mistral", "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2,
           "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 20, "sliding_window": None}
LLAMA = {"model_type": "llama", "hidden_size": 48, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 4, "rope_parameters": {"rope_type": "linear", "rope_theta": 1e5, "factor": 2.0}}
SQUARE = {"height": 30, "width": 30}
RECIPES = {
    "siglip": lambda: Recipe(SiglipVisionConfig, QWEN2, SiglipImageProcessorFast(size=SQUARE), "full", 2,
                             vision_feature_layer=-1, multimodal_projector_bias=False),
    # F054: "default" drops the first token, whatever it is; without a class token that is a patch.
    "siglip less a patch": lambda: Recipe(SiglipVisionConfig, LLAMA, SiglipImageProcessorFast(size=SQUARE), "default", 1),
    # LLaVA's own preprocessing: padded to a square with the mean colour.
    "padded": lambda: Recipe(CLIPVisionConfig, MISTRAL, LlavaImageProcessorFast(
        do_pad=True, size={"shortest_edge": 30}, crop_size=SQUARE), "default", 21, tie_word_embeddings=True),
    # Features of three layers side by side, the class token kept.
    "layers": lambda: Recipe(CLIPVisionConfig, QWEN2, CLIPImageProcessorFast(
        size={"shortest_edge": 30}, crop_size=SQUARE), "full", 0, vision_feature_layer=[-1, 0, -3],
        projector_hidden_act="relu"),
}


def save_processor(folder: Path, recipe: Recipe) -> Any:
    """The family's processor, saved and opened again."""
    tokenizer = save_tokenizer(folder, image_token="<image>")
    LlavaProcessor(recipe.images, tokenizer, patch_size=6, vision_feature_select_strategy=recipe.strategy,
                   num_additional_image_tokens=recipe.class_tokens).save_pretrained(folder)
    return AutoProcessor.from_pretrained(folder)


Tiny = tuple[Path, Recipe, Any, Any]  # folder, recipe, reference, processor


@pytest.fixture(scope="module", params=RECIPES)
def tiny(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    recipe = RECIPES[request.param]()
    folder = tmp_path_factory.mktemp("tiny") / "model"
    processor = save_processor(folder, recipe)
    return folder, recipe, save_tiny(
        folder, LlavaForConditionalGeneration, recipe.config, seed=recipe.seed), processor


def check_prompt(ours: OurPrompt, inputs: dict[str, Any]) -> None:
    assert ours.ids == inputs["input_ids"][0].tolist()
    assert np.abs(np.stack(ours.pixels) - inputs["pixel_values"].numpy()).max() <= 1e-6


# --- pixels and prompts ---------------------------------------------------------------------------

SIZES = [(30, 30), (400, 20), (15, 300), (1, 1), (1, 2), (2, 1), (101, 57), (57, 101), (300, 100), (100, 700), (31, 29),
         (225, 224)]


def test_pixels_and_ids_equal_the_processor(tiny: Tiny, tmp_path: Path) -> None:
    """F046 F047 F048 F055 F065: every shape down to one pixel, all in one prompt."""
    folder, recipe, _, processor = tiny
    paths = saved_photos(tmp_path, *SIZES)
    text = "<s>" + "".join(f"<image>{i} " for i in range(len(paths)))
    ours = our_prompt(folder, tmp_path, text, paths, template=False)
    check_prompt(ours, reference_inputs(processor, text, paths))
    assert ours.kinds.count(2) == len(paths) * recipe.tokens


# --- logits and answers ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(30, 30), (90, 20), (25, 71)])
def test_answers_equal_the_reference(tiny: Tiny, size: tuple[int, int], tmp_path: Path) -> None:
    folder, _, reference, processor = tiny
    check_answer(folder, tmp_path, (reference, processor), "<s><image>What is it?", size)


def test_two_pictures_keep_their_order(tiny: Tiny, tmp_path: Path) -> None:
    """F072."""
    folder, _, reference, processor = tiny
    check_order(folder, tmp_path, (reference, processor), "<s><image> and <image>differ:")


def test_bf16_is_near_the_reference_in_bf16(tiny: Tiny, tmp_path: Path) -> None:
    folder, _, _, processor = tiny
    check_bf16_answer(folder, tmp_path, LlavaForConditionalGeneration, processor, "<s><image>What?")


# --- where tokens come from -----------------------------------------------------------------------

# Of a picture of 90 x 40 pixels: boxes of the first two image tokens.
WIDE_BY_HAND: dict[str, list[list[float] | None]] = {
    "siglip": [[0, 0, 18, 8], [18, 0, 36, 8]],  # stretched
    "siglip less a patch": [[18, 0, 36, 8], [36, 0, 54, 8]],
    "padded": [[0, -25, 18, -7], [18, -25, 36, -7]],  # 25 rows of padding above 40 rows
    # 67 x 30 pixels, of which 18 are cut off on the left: (67 - 30) // 2; the class token has no place.
    "layers": [None, [18 * 90 / 67, 0, 24 * 90 / 67, 8]],
}


def test_boxes_of_a_wide_picture_are_those_worked_out_by_hand(
    tiny: Tiny, request: pytest.FixtureRequest, tmp_path: Path,
) -> None:
    folder, recipe, _, _ = tiny
    ours = our_prompt(folder, tmp_path, "<image>", saved_photos(tmp_path, (90, 40)), template=False)
    expected = WIDE_BY_HAND[request.node.callspec.params["tiny"]]
    assert len(ours.boxes) == recipe.tokens and ours.roles == [0] * recipe.tokens
    for box, by_hand in zip(boxes_of_picture(ours, 0)[:2], expected, strict=True):
        assert (box is None) == (by_hand is None)
        if box is not None:
            np.testing.assert_allclose(box, by_hand, atol=1e-4)


def test_boxes_of_a_rotated_photo_lie_in_the_upright_picture(tiny: Tiny, tmp_path: Path) -> None:
    """F058: stored 60 x 30, seen 30 x 60."""
    folder, recipe, _, _ = tiny
    ours = our_prompt(folder, tmp_path, "<image>", [saved_rotated(tmp_path / "a.jpg", 60, 30)], template=False)
    by_hand = {"SiglipImageProcessorFast": [24, 48, 30, 60],  # stretched: 6 x 12 pixels a patch
               "LlavaImageProcessorFast": [33, 48, 45, 60],  # 15 columns of padding, 12 x 12 pixels a patch
               "CLIPImageProcessorFast": [24, 39, 30, 45]}  # the middle 30 of 60 rows
    np.testing.assert_allclose(ours.boxes[-1], by_hand[type(recipe.images).__name__], atol=1e-4)


# --- the folder people have on disk ---------------------------------------------------------------

# As Llama's: SentencePiece pieces, bytes to fall back on; "<image>" and "<pad>" behind them.
PIECES = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *"▁abcdehimnorstuwASUERWTN:?",
          "▁W", "at", "hat", "is", "▁is", "th"]
MERGES = [("▁", "W"), ("a", "t"), ("h", "at"), ("i", "s"), ("▁", "is"), ("t", "h")]
# config.json, preprocessor_config.json and processor_config.json as llava-1.5-7b-hf spells them, sizes aside.
OLDER_CONFIG = {
    "architectures": ["LlavaForConditionalGeneration"], "ignore_index": -100, "image_token_index": len(PIECES),
    "model_type": "llava", "pad_token_id": len(PIECES) + 1, "projector_hidden_act": "gelu",
    "text_config": {"_name_or_path": "lmsys/vicuna-7b-v1.5", "architectures": ["LlamaForCausalLM"],
                    "max_position_embeddings": 4096, "model_type": "llama", "rms_norm_eps": 1e-05,
                    "torch_dtype": "float16", "vocab_size": 320,
                    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2},  # the rest by default: 32 heads
    "tie_word_embeddings": False, "torch_dtype": "float16", "transformers_version": "4.36.0.dev0",
    "vision_config": {"hidden_size": 32, "image_size": 28, "intermediate_size": 48, "model_type": "clip_vision_model",
                      "num_attention_heads": 4, "num_hidden_layers": 2, "patch_size": 14, "projection_dim": 24,
                      "vocab_size": 32000},
    "vision_feature_layer": -2, "vision_feature_select_strategy": "default", "vocab_size": 320,
}
OLDER_PREPROCESSOR = {
    "crop_size": {"height": 28, "width": 28}, "do_center_crop": True, "do_convert_rgb": True, "do_normalize": True,
    "do_rescale": True, "do_resize": True, "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_processor_type": "CLIPImageProcessor", "image_std": [0.26862954, 0.26130258, 0.27577711],
    "processor_class": "LlavaProcessor", "resample": 3, "rescale_factor": 0.00392156862745098,
    "size": {"shortest_edge": 28},
}
OLDER_PROCESSOR = {"image_token": "<image>", "num_additional_image_tokens": 1, "patch_size": 14,
                   "processor_class": "LlavaProcessor", "vision_feature_select_strategy": "default"}
VICUNA = ("{% for message in messages %}{{ message['role'].upper() + ': ' }}{% for part in message['content'] "
          "| selectattr('type', 'equalto', 'image') %}{{ '<image>\n' }}{% endfor %}{% for part in message['content'] "
          "| selectattr('type', 'equalto', 'text') %}{{ part['text'] }}{% endfor %}{{ ' ' }}{% endfor %}"
          "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}")


def llama_tokenizer() -> Tokenizer:
    """With Llama's rules for spaces."""
    vocabulary = {piece: i for i, piece in enumerate(PIECES)}
    tokenizer = Tokenizer(models.BPE(vocabulary, MERGES, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(" ", 1, 0)])
    return tokenizer


def save_older_folder(folder: Path) -> None:
    folder.mkdir()
    tokenizer = json.loads(llama_tokenizer().to_str())
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    tokenizer["added_tokens"] = [{"id": i, "content": text} | special for i, text in
                                 [(0, "<unk>"), (1, "<s>"), (2, "</s>"), (len(PIECES), "<image>"), (len(PIECES) + 1, "<pad>")]]
    contents: dict[str, Any] = {
        "config.json": OLDER_CONFIG, "preprocessor_config.json": OLDER_PREPROCESSOR,
        "processor_config.json": OLDER_PROCESSOR, "tokenizer.json": tokenizer,
        "tokenizer_config.json": {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>",
                                  "image_token": "<image>", "tokenizer_class": "PreTrainedTokenizerFast"},
        "chat_template.json": {"chat_template": VICUNA}}
    for name, content in contents.items():
        (folder / name).write_text(json.dumps(content), "utf-8")


def test_a_folder_in_the_older_spellings_gives_the_same_answers(tmp_path: Path) -> None:
    """F087: llava-1.5-7b-hf in small: partial configurations, its names of tensors, its tokenizer's kind."""
    folder = tmp_path / "model"
    save_older_folder(folder)
    written = {name: (folder / name).read_bytes() for name in ("config.json", "tokenizer.json", "tokenizer_config.json")}
    reference = save_tiny(folder, LlavaForConditionalGeneration, LlavaConfig.from_pretrained(folder))
    for name, content in written.items():
        (folder / name).write_bytes(content)
    renamed(folder, oldest_layout)
    tensors = load_file(folder / "model.safetensors")
    tensors["vision_tower.vision_model.embeddings.position_ids"] = torch.arange(5).unsqueeze(0)
    assert {"language_model.lm_head.weight", "language_model.model.norm.weight"} <= set(tensors)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    processor = AutoProcessor.from_pretrained(folder)
    paths = saved_photos(tmp_path, (50, 30))
    content = [{"type": "image"}, {"type": "text", "text": "What is that?"}]
    text = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    inputs = reference_inputs(processor, text, paths)
    assert inputs["input_ids"][0].tolist().count(len(PIECES)) == 4
    check_parity(folder, tmp_path, reference, inputs=inputs, text="What is that?", images=paths, template=True)


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, change, said", [
    ("padded", {"num_additional_image_tokens": 0}, "asks for 24 tokens a picture, but the tower"),  # F054
    ("siglip", {"num_additional_image_tokens": 1}, "asks for 26 tokens a picture, but the tower"),
    ("layers", {"image_processor.do_pad": True}, "a CLIPImageProcessor does not pad to a square"),
    ("siglip", {"image_processor.size": {"height": 36, "width": 36}}, "as 36 x 36 pixels, but the tower"),
])
def test_processors_that_do_not_fit_are_refused_by_name(tmp_path: Path, name: str, change: dict[str, Any],
                                                        said: str) -> None:
    recipe = RECIPES[name]()
    folder = tmp_path / "model"
    save_processor(folder, recipe)
    recipe.config.save_pretrained(folder)
    edit_json(folder / "processor_config.json", **change)
    paths = saved_photos(tmp_path, (50, 20))
    request = {"text": "<image>", "images": [str(paths[0])], "template": False}
    assert said in refusal("prompt", folder, tmp_path, stdin=request)
