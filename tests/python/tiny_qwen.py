# SPDX-License-Identifier: GPL-3.0-or-later
"""Tiny random checkpoints of Qwen2-VL, Qwen2.5-VL and Qwen3-VL with their real processors, made by transformers."""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from tiny_models import save_tiny
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)
from transformers import (
    AutoProcessor,
    PreTrainedModel,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2Tokenizer,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
    Qwen2VLImageProcessorFast,
    Qwen2VLProcessor,
    Qwen2VLVideoProcessor,
    Qwen3_5Config,
    Qwen3_5ForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    Qwen3VLProcessor,
    Qwen3VLVideoProcessor,
)

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>",
            "<|image_pad|>", "<|video_pad|>"]
VOCABULARY = 320  # 312 with a name: bytes, merges, the special tokens
FIRST_SPECIAL = 304
IMAGE, VISION_START, VISION_END, VIDEO, END = (FIRST_SPECIAL + i for i in (6, 3, 4, 7, 2))

# How Qwen2 splits words; the merges are our own.
SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
         r"|\s+(?!\S)|\s+")
WORDS = ["what is the total of the invoice in the picture", "the second picture is not the first picture",
         "how many lines, and which of them is the last?", "in this picture there is nothing to read"]

# In the style of Qwen's templates: a system turn by default, vision markers written by the template.
TEMPLATE = """{%- set pictures = namespace(count=0) -%}
{%- for message in messages -%}
{%- if loop.first and message['role'] != 'system' -%}
{{- '<|im_start|>system\\nYou read pictures.<|im_end|>\\n' -}}
{%- endif -%}
{{- '<|im_start|>' + message['role'] + '\\n' -}}
{%- if message['content'] is string -%}
{{- message['content'] -}}
{%- else -%}
{%- for part in message['content'] -%}
{%- if part['type'] == 'image' or 'image' in part or 'image_url' in part -%}
{%- set pictures.count = pictures.count + 1 -%}
{%- if add_vision_id -%}{{- 'Picture ' ~ pictures.count ~ ': ' -}}{%- endif -%}
{{- '<|vision_start|><|image_pad|><|vision_end|>' -}}
{%- elif part['type'] == 'video' or 'video' in part -%}
{{- '<|vision_start|><|video_pad|><|vision_end|>' -}}
{%- elif 'text' in part -%}
{{- part['text'] -}}
{%- endif -%}
{%- endfor -%}
{%- endif -%}
{{- '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<|im_start|>assistant\\n' -}}
{%- endif -%}
"""


def train_tokenizer(folder: Path) -> Qwen2Tokenizer:
    """Byte-level BPE as Qwen2 has it, over words of our own; saved and opened as transformers does."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=FIRST_SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  show_progress=False)
    tokenizer.train_from_iterator(WORDS * 4, trainer)
    assert tokenizer.get_vocab_size() == FIRST_SPECIAL
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIALS])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "tokenizer.json"
    tokenizer.save(str(path))
    return Qwen2Tokenizer(tokenizer_file=str(path), eos_token="<|im_end|>", pad_token="<|endoftext|>",
                          unk_token=None, bos_token=None)


@dataclass(frozen=True)
class Version:
    """One of the families."""

    config: type[Any]
    model: type[PreTrainedModel]
    processor: type[Any]
    video: type[Any]
    side: int  # pixels of a patch


VERSIONS = {
    "qwen2": Version(Qwen2VLConfig, Qwen2VLForConditionalGeneration, Qwen2VLProcessor, Qwen2VLVideoProcessor, 14),
    "qwen2.5": Version(Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration, Qwen2_5_VLProcessor,
                       Qwen2VLVideoProcessor, 14),
    "qwen3.5": Version(Qwen3_5Config, Qwen3_5ForConditionalGeneration, Qwen3VLProcessor, Qwen3VLVideoProcessor, 16),
    "qwen3": Version(Qwen3VLConfig, Qwen3VLForConditionalGeneration, Qwen3VLProcessor, Qwen3VLVideoProcessor, 16),
}


@dataclass(frozen=True)
class Recipe:
    version: str
    text: dict[str, Any]
    vision: dict[str, Any]
    tied: bool = False
    pixels: tuple[int, int] = (56 * 56, 28 * 28 * 40)  # least, most
    processor: dict[str, Any] = field(default_factory=dict)
    seed: int = 0


TEXT = {"vocab_size": VOCABULARY, "intermediate_size": 96, "num_hidden_layers": 3, "max_position_embeddings": 4096,
        "bos_token_id": None, "eos_token_id": END}
LINEAR = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8,
          "linear_value_head_dim": 12}
CLIP = {"image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711]}
HALF = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}


def sections(theta: float, *parts: int, **more: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": "default", "rope_theta": theta, "mrope_section": list(parts)} | more}


# For each family: grouped queries, an own head; and tied, one key head for each query head.
RECIPES = {
    "qwen2 grouped": Recipe(
        "qwen2", TEXT | {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2} | sections(1e6, 2, 3, 3),
        {"depth": 3, "embed_dim": 32, "hidden_size": 64, "mlp_ratio": 2, "num_heads": 2}, processor=CLIP),
    "qwen2 tied": Recipe(
        "qwen2", TEXT | {"hidden_size": 48, "num_attention_heads": 2, "num_key_value_heads": 2, "rms_norm_eps": 1e-6}
        | sections(1e4, 4, 4, 4),
        {"depth": 2, "embed_dim": 48, "hidden_size": 48, "mlp_ratio": 3.5, "num_heads": 4, "patch_size": 8,
         "hidden_act": "gelu"}, tied=True, pixels=(1, 16 * 16 * 50), processor=HALF | {"patch_size": 8}),
    "qwen2.5 grouped": Recipe(
        "qwen2.5", TEXT | {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2} | sections(1e6, 2, 3, 3),
        {"depth": 4, "hidden_size": 32, "out_hidden_size": 64, "intermediate_size": 72, "num_heads": 2,
         "window_size": 56, "fullatt_block_indexes": [1, 3]}, pixels=(56 * 56, 28 * 28 * 60), processor=CLIP),
    "qwen2.5 tied": Recipe(
        "qwen2.5", TEXT | {"hidden_size": 48, "num_attention_heads": 2, "num_key_value_heads": 1} | sections(1e4, 4, 4, 4),
        {"depth": 3, "hidden_size": 48, "out_hidden_size": 48, "intermediate_size": 64, "num_heads": 4, "patch_size": 8,
         "window_size": 50, "fullatt_block_indexes": [2]}, tied=True, pixels=(1, 16 * 16 * 50),
        processor=HALF | {"patch_size": 8}),
    "qwen3 grouped": Recipe(
        "qwen3", TEXT | {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 24}
        | sections(5e6, 6, 3, 3, mrope_interleaved=True),
        {"depth": 5, "hidden_size": 32, "out_hidden_size": 64, "intermediate_size": 72, "num_heads": 2,
         "num_position_embeddings": 49, "deepstack_visual_indexes": [0, 2, 3]}, pixels=(64 * 64, 32 * 32 * 40),
        processor=HALF | {"patch_size": 16}),
    "qwen3 tied": Recipe(
        "qwen3", TEXT | {"hidden_size": 48, "num_attention_heads": 3, "num_key_value_heads": 3, "head_dim": 16,
                         "attention_bias": True} | sections(1e4, 4, 2, 2, mrope_interleaved=True),
        {"depth": 3, "hidden_size": 48, "out_hidden_size": 48, "intermediate_size": 64, "num_heads": 4, "patch_size": 8,
         "num_position_embeddings": 64, "deepstack_visual_indexes": [1]}, tied=True, pixels=(1, 16 * 16 * 50),
        processor=CLIP | {"patch_size": 8}, seed=7),
    # linear, linear, full; and full, linear, linear
    "qwen3.5 grouped": Recipe(
        "qwen3.5", TEXT | LINEAR | {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
                                    "head_dim": 32, "full_attention_interval": 3}
        | sections(5e6, 3, 3, 2, partial_rotary_factor=0.5),
        {"depth": 3, "hidden_size": 32, "out_hidden_size": 64, "intermediate_size": 72, "num_heads": 2,
         "num_position_embeddings": 49}, pixels=(64 * 64, 32 * 32 * 40), processor=HALF | {"patch_size": 16}),
    "qwen3.5 tied": Recipe(
        "qwen3.5", TEXT | LINEAR | {"hidden_size": 48, "num_attention_heads": 3, "num_key_value_heads": 3,
                                    "head_dim": 24, "attention_bias": True,
                                    "layer_types": ["full_attention", "linear_attention", "linear_attention"]}
        | sections(1e4, 2, 2, 2, partial_rotary_factor=0.5),
        {"depth": 2, "hidden_size": 48, "out_hidden_size": 48, "intermediate_size": 64, "num_heads": 4, "patch_size": 8,
         "num_position_embeddings": 64}, tied=True, pixels=(1, 16 * 16 * 50), processor=CLIP | {"patch_size": 8}, seed=3),
}


def save_processor(folder: Path, recipe: Recipe) -> Any:
    """The family's own processor, in the layout that transformers 5 writes; opened again by its folder."""
    version = VERSIONS[recipe.version]
    least, most = recipe.pixels
    settings = {"patch_size": version.side, "merge_size": 2, "temporal_patch_size": 2} | recipe.processor
    limits = {"shortest_edge": least, "longest_edge": most}
    images = Qwen2VLImageProcessorFast(size=limits, **settings)
    video = version.video(size=dict(limits), **settings)
    tokenizer = train_tokenizer(folder)
    version.processor(images, tokenizer, video, chat_template=TEMPLATE).save_pretrained(folder)
    return AutoProcessor.from_pretrained(folder)


def save_qwen(folder: Path, recipe: Recipe) -> tuple[PreTrainedModel, Any]:
    version = VERSIONS[recipe.version]
    processor = save_processor(folder, recipe)
    config = version.config(text_config=dict(recipe.text), vision_config=dict(recipe.vision), image_token_id=IMAGE,
                            video_token_id=VIDEO, vision_start_token_id=VISION_START, vision_end_token_id=VISION_END,
                            tie_word_embeddings=recipe.tied)
    return save_tiny(folder, version.model, config, seed=recipe.seed), processor


def chat_inputs(processor: Any, text: str, pictures: list[Image.Image]) -> dict[str, torch.Tensor]:
    """What the reference's processor makes of one user turn."""
    content = [{"type": "image", "image": picture} for picture in pictures] + [{"type": "text", "text": text}]
    return dict(processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True,
                                              tokenize=True, return_dict=True, return_tensors="pt"))


def older_config(folder: Path, spelling: str) -> None:
    """Rewrites config.json as releases before text_config did: keys of the decoder beside the others."""
    path = folder / "config.json"
    config = json.loads(path.read_text("utf-8"))
    text = config.pop("text_config")
    rope = text.pop("rope_parameters")
    text.pop("model_type")
    text |= {"rope_theta": rope["rope_theta"],
             "rope_scaling": {"type": spelling, "mrope_section": rope["mrope_section"]}}
    path.write_text(json.dumps(text | config), "utf-8")
