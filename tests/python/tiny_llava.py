# SPDX-License-Identifier: GPL-3.0-or-later
"""Tiny random LLaVA checkpoints made by transformers, and runs of our model on them."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from conftest import DEMO_MODEL, program
from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

IMAGE_TOKEN = 258
IMAGE_SIDE = 192

# What differs from the demo model: grouped queries with a head size of its own, biases everywhere,
# a tied head, llama3 rotary scaling, the last but one layer of the tower.
GROUPED = {
    "text": {
        "hidden_size": 96, "intermediate_size": 160, "num_hidden_layers": 3,
        "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 24, "attention_bias": True,
        "mlp_bias": True, "max_position_embeddings": 4096, "tie_word_embeddings": True,
        "rope_parameters": {
            "rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 256,
        },
    },
    "vision": {"hidden_act": "gelu", "num_hidden_layers": 3},
    "top": {"vision_feature_layer": -2, "tie_word_embeddings": True},
}
# One KV head per query head, linear rotary scaling, class token kept, exact last layer.
PLAIN = {
    "text": {
        "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 4, "max_position_embeddings": 4096,
        "rope_parameters": {"rope_type": "linear", "rope_theta": 1e6, "factor": 2.0},
    },
    "vision": {"hidden_act": "quick_gelu", "num_hidden_layers": 2},
    "top": {"vision_feature_select_strategy": "full", "multimodal_projector_bias": False,
            "projector_hidden_act": "silu"},
}


def make_checkpoint(folder: Path, recipe: dict[str, Any], dtype: torch.dtype = torch.float32,
                    seed: int = 0) -> LlavaForConditionalGeneration:
    """Saves a random model of `recipe` into `folder`, with the demo's tokenizer; returns it."""
    torch.manual_seed(seed)
    text = recipe.get("decoder", LlamaConfig)(vocab_size=260, bos_token_id=256, eos_token_id=257, **recipe["text"])
    vision = CLIPVisionConfig(hidden_size=48, intermediate_size=80, num_attention_heads=4,
                              image_size=IMAGE_SIDE, patch_size=24, **recipe["vision"])
    config = LlavaConfig(vision_config=vision, text_config=text, image_token_index=IMAGE_TOKEN,
                         **recipe["top"])
    model = LlavaForConditionalGeneration(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            # Norm weights stay near one, everything else is large enough to matter.
            is_scale = parameter.dim() == 1 and "norm" in name and name.endswith("weight")
            parameter.normal_(1.0 if is_scale else 0.0, 0.15)
    model.tie_weights()
    model.to(dtype).save_pretrained(folder)
    for path in DEMO_MODEL.iterdir():
        if path.name not in ("config.json", "model.safetensors", "generation_config.json"):
            shutil.copy(path, folder / path.name)
    processor_path = folder / "processor_config.json"
    processor = json.loads(processor_path.read_text("utf-8"))
    processor["patch_size"] = 24
    processor["vision_feature_select_strategy"] = config.vision_feature_select_strategy
    processor_path.write_text(json.dumps(processor), "utf-8")
    return load_reference(folder)


def load_reference(folder: Path, dtype: torch.dtype = torch.float32) -> LlavaForConditionalGeneration:
    """The folder as transformers opens it (casting a live model would round its rotary table too)."""
    return LlavaForConditionalGeneration.from_pretrained(folder, dtype=dtype).eval()


def edit_config(folder: Path, change: Any) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text("utf-8"))
    change(config)
    path.write_text(json.dumps(config), "utf-8")


@dataclass
class ProbeRun:
    """What model_logits_probe answered."""

    answer: dict[str, Any]
    log: str
    logits: np.ndarray = field(repr=False)  # [1 + step, vocabulary] f32
    keys: np.ndarray = field(repr=False)  # [layer, kvHead, token, dim] f32
    queries: np.ndarray = field(repr=False)  # [layer, head, row, dim] f32


def start_probe(model: Path, out: Path, **request: Any) -> subprocess.CompletedProcess[str]:
    out.mkdir(parents=True, exist_ok=True)
    request |= {"model": str(model), "out": str(out)}
    return subprocess.run([str(program("model_logits_probe"))], input=json.dumps(request),
                          capture_output=True, text=True, timeout=300, env=os.environ)


def run_probe(model: Path, out: Path, **request: Any) -> ProbeRun:
    done = start_probe(model, out, **request)
    assert done.returncode == 0, done.stderr
    return ProbeRun(json.loads(done.stdout), done.stderr, np.load(out / "logits.npy"),
                    np.load(out / "keys.npy"), np.load(out / "queries.npy"))


@dataclass
class PictureAndWords:
    """A prompt by ids, with the pixels of its pictures."""

    ids: list[int]
    pixels: torch.Tensor | None  # [picture, 3, side, side]

    def request(self, folder: Path) -> dict[str, Any]:
        paths = []
        for i, picture in enumerate(self.pixels if self.pixels is not None else []):
            paths.append(str(folder / f"picture{i}.f32"))
            picture.numpy().astype("<f4").tofile(paths[-1])
        return {"token_ids": self.ids, "image_token": IMAGE_TOKEN, "pixels": paths}

    def inputs(self) -> dict[str, torch.Tensor]:
        inputs = {"input_ids": torch.tensor([self.ids])}
        return inputs if self.pixels is None else inputs | {"pixel_values": self.pixels}


def random_prompt(image_tokens: int, pictures: int = 1, words: int = 40, seed: int = 3) -> PictureAndWords:
    generator = torch.Generator().manual_seed(seed)
    ids = [256]
    for _ in range(pictures):
        ids += [IMAGE_TOKEN] * image_tokens + torch.randint(0, 256, (5,), generator=generator).tolist()
    ids += torch.randint(0, 256, (words,), generator=generator).tolist()
    pixels = torch.randn(pictures, 3, IMAGE_SIDE, IMAGE_SIDE, generator=generator)
    return PictureAndWords(ids, pixels if pictures else None)
