#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a model folder in the shape of a large LLaVA-1.5 whose weights are holes on disk.

    python scripts/sparse_checkpoint.py OUT --shape 7b

Configuration, tokenizer and headers are real, the data is a hole that reads as zeros, so 14 GB take
a few hundred kB of disk. For measuring how a folder opens and what a prefill costs in memory and
time; what such a model answers means nothing. Needs nothing but Python.
"""
from __future__ import annotations

import argparse
import json
import shutil
import struct
from dataclasses import dataclass
from pathlib import Path

DEMO = Path(__file__).resolve().parents[1] / "resources" / "demo-model"
IMAGE_TOKEN = 258  # of the demo's tokenizer, whose files are copied


@dataclass(frozen=True)
class Shape:
    """Sizes of a decoder; the tower is CLIP ViT-L/14 at `image` pixels."""
    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    vocabulary: int
    vision_hidden: int = 1024
    vision_layers: int = 24
    image: int = 336
    patch: int = 14


SHAPES = {
    "7b": Shape(4096, 11008, 32, 32, 32, 32064),
    "1b": Shape(2048, 5632, 22, 32, 4, 32064),
    "small": Shape(256, 688, 4, 8, 4, 512, 128, 3, 56),
    "tower": Shape(256, 688, 2, 8, 4, 512, 1024, 3, 672),  # most of its memory is the tower's
}


def decoder_tensors(s: Shape) -> dict[str, tuple[int, ...]]:
    """Name -> shape, in the spelling of the exports that most people have."""
    head = s.hidden // s.heads
    tensors = {"language_model.model.embed_tokens.weight": (s.vocabulary, s.hidden),
               "language_model.model.norm.weight": (s.hidden,),
               "language_model.lm_head.weight": (s.vocabulary, s.hidden)}
    for layer in range(s.layers):
        at = f"language_model.model.layers.{layer}."
        tensors |= {at + "input_layernorm.weight": (s.hidden,), at + "post_attention_layernorm.weight": (s.hidden,),
                    at + "self_attn.q_proj.weight": (s.hidden, s.hidden), at + "self_attn.k_proj.weight": (s.kv_heads * head, s.hidden),
                    at + "self_attn.v_proj.weight": (s.kv_heads * head, s.hidden), at + "self_attn.o_proj.weight": (s.hidden, s.hidden),
                    at + "mlp.gate_proj.weight": (s.intermediate, s.hidden), at + "mlp.up_proj.weight": (s.intermediate, s.hidden),
                    at + "mlp.down_proj.weight": (s.hidden, s.intermediate)}
    return tensors


def with_bias(name: str, rows: int, columns: int | None = None) -> dict[str, tuple[int, ...]]:
    """A linear layer, or a norm where there are no columns."""
    return {name + ".weight": (rows,) if columns is None else (rows, columns), name + ".bias": (rows,)}


def vision_tensors(s: Shape) -> dict[str, tuple[int, ...]]:
    """Tower and projector."""
    hidden, patches = s.vision_hidden, (s.image // s.patch) ** 2
    tower = "vision_tower.vision_model."
    tensors: dict[str, tuple[int, ...]] = {
        tower + "embeddings.class_embedding": (hidden,), tower + "embeddings.patch_embedding.weight": (hidden, 3, s.patch, s.patch),
        tower + "embeddings.position_embedding.weight": (patches + 1, hidden),
        **with_bias(tower + "pre_layrnorm", hidden), **with_bias(tower + "post_layernorm", hidden),
        **with_bias("multi_modal_projector.linear_1", s.hidden, hidden), **with_bias("multi_modal_projector.linear_2", s.hidden, s.hidden)}
    for layer in range(s.vision_layers):
        at = f"{tower}encoder.layers.{layer}."
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            tensors |= with_bias(at + "self_attn." + name, hidden, hidden)
        tensors |= {**with_bias(at + "layer_norm1", hidden), **with_bias(at + "layer_norm2", hidden),
                    **with_bias(at + "mlp.fc1", 4 * hidden, hidden), **with_bias(at + "mlp.fc2", hidden, 4 * hidden)}
    return tensors


def configuration(s: Shape) -> dict[str, object]:
    """config.json, with the spellings of older exports."""
    text = {"model_type": "llama", "vocab_size": s.vocabulary, "hidden_size": s.hidden, "intermediate_size": s.intermediate,
            "num_hidden_layers": s.layers, "num_attention_heads": s.heads, "num_key_value_heads": s.kv_heads,
            "max_position_embeddings": 4096, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": False}
    vision = {"model_type": "clip_vision_model", "hidden_size": s.vision_hidden, "intermediate_size": 4 * s.vision_hidden,
              "num_hidden_layers": s.vision_layers, "num_attention_heads": s.vision_hidden // 64, "image_size": s.image, "patch_size": s.patch,
              "hidden_act": "quick_gelu", "layer_norm_eps": 1e-5, "projection_dim": 768}
    return {"architectures": ["LlavaForConditionalGeneration"], "model_type": "llava", "torch_dtype": "bfloat16", "image_token_index": IMAGE_TOKEN,
            "projector_hidden_act": "gelu", "vision_feature_layer": -2, "vision_feature_select_strategy": "default", "tie_word_embeddings": False,
            "text_config": text, "vision_config": vision}


def processor(s: Shape) -> dict[str, object]:
    """preprocessor_config.json of a CLIP processor."""
    return {"image_processor_type": "CLIPImageProcessor", "do_resize": True, "size": {"shortest_edge": s.image}, "resample": 3, "do_center_crop": True,
            "crop_size": {"height": s.image, "width": s.image}, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True,
            "image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711], "do_convert_rgb": True}


def byte_count(shape: tuple[int, ...]) -> int:
    """Of a tensor in bfloat16."""
    count = 2
    for dimension in shape:
        count *= dimension
    return count


def write_shard(path: Path, tensors: dict[str, tuple[int, ...]]) -> None:
    """Header and a hole in place of the data."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape in tensors.items():
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + byte_count(shape)]}
        end += byte_count(shape)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)


def write_weights(folder: Path, tensors: dict[str, tuple[int, ...]], shard_bytes: int) -> None:
    """Shards of at most `shard_bytes` and their index."""
    shards: list[dict[str, tuple[int, ...]]] = [{}]
    filled = 0
    for name, shape in tensors.items():
        if filled and filled + byte_count(shape) > shard_bytes:
            shards.append({})
            filled = 0
        shards[-1][name] = shape
        filled += byte_count(shape)
    names = [f"model-{i + 1:05}-of-{len(shards):05}.safetensors" for i in range(len(shards))]
    for name, shard in zip(names, shards):
        write_shard(folder / name, shard)
    index = {"metadata": {"total_size": sum(map(byte_count, tensors.values()))},
             "weight_map": {tensor: name for name, shard in zip(names, shards) for tensor in shard}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def make(folder: Path, shape: str, shard_bytes: int = 5_000_000_000) -> Path:
    """Writes the folder; what is there already is replaced file by file."""
    s = SHAPES[shape]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(configuration(s), indent=1))
    (folder / "preprocessor_config.json").write_text(json.dumps(processor(s), indent=1))
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json", "chat_template.jinja"):
        shutil.copyfile(DEMO / name, folder / name)
    write_weights(folder, {**vision_tensors(s), **decoder_tensors(s)}, shard_bytes)
    return folder


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shape", choices=SHAPES, default="7b")
    arguments = parser.parse_args()
    make(arguments.folder, arguments.shape)
    size = sum(file.stat().st_size for file in arguments.folder.iterdir())
    on_disk = sum(file.stat().st_blocks * 512 for file in arguments.folder.iterdir())
    print(f"{arguments.folder}: {size / 1e9:.1f} GB, of which {on_disk / 1e6:.1f} MB are on disk")


if __name__ == "__main__":
    main()
