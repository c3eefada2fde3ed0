# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo model under its Hugging Face names, both ways."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from demo_model import architecture as arch

WEIGHTS = "model.safetensors"
TOWER = "vision_tower.vision_model."
PROJECTOR = "multi_modal_projector."
DECODER = "language_model.model."


def _renamed_tower() -> Iterator[tuple[str, str]]:
    """(training name, Hugging Face name) of tower and projector, where they are only renamed."""
    yield "position", f"{TOWER}embeddings.position_embedding.weight"
    yield "cls", f"{TOWER}embeddings.class_embedding"
    for kind in ("weight", "bias"):
        yield f"pre_norm.{kind}", f"{TOWER}pre_layrnorm.{kind}"
        yield f"proj1.{kind}", f"{PROJECTOR}linear_1.{kind}"
        yield f"proj2.{kind}", f"{PROJECTOR}linear_2.{kind}"
        for i in range(arch.V_LAYERS):
            ours, theirs = f"vision.{i}.", f"{TOWER}encoder.layers.{i}."
            yield f"{ours}norm1.{kind}", f"{theirs}layer_norm1.{kind}"
            yield f"{ours}norm2.{kind}", f"{theirs}layer_norm2.{kind}"
            yield f"{ours}o.{kind}", f"{theirs}self_attn.out_proj.{kind}"
            yield f"{ours}fc1.{kind}", f"{theirs}mlp.fc1.{kind}"
            yield f"{ours}fc2.{kind}", f"{theirs}mlp.fc2.{kind}"


def _renamed_decoder() -> Iterator[tuple[str, str]]:
    """(training name, Hugging Face name) of the decoder's tensors."""
    yield "embed.weight", f"{DECODER}embed_tokens.weight"
    yield "norm.weight", f"{DECODER}norm.weight"
    yield "head.weight", "language_model.lm_head.weight"
    for i in range(arch.LAYERS):
        ours, theirs = f"layers.{i}.", f"{DECODER}layers.{i}."
        yield f"{ours}norm1.weight", f"{theirs}input_layernorm.weight"
        yield f"{ours}norm2.weight", f"{theirs}post_attention_layernorm.weight"
        for name in "qkvo":
            yield f"{ours}{name}.weight", f"{theirs}self_attn.{name}_proj.weight"
        for name in ("gate", "up", "down"):
            yield f"{ours}{name}.weight", f"{theirs}mlp.{name}_proj.weight"


def _fused() -> Iterator[tuple[str, list[str]]]:
    """(training name, the three Hugging Face names) of the tower's query, key, value matrices."""
    for i in range(arch.V_LAYERS):
        for kind in ("weight", "bias"):
            layer = f"{TOWER}encoder.layers.{i}.self_attn."
            yield f"vision.{i}.qkv.{kind}", [f"{layer}{name}_proj.{kind}" for name in "qkv"]


PATCH_NAMES = ("patch.weight", f"{TOWER}embeddings.patch_embedding.weight")


def tower_to_hugging_face(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tower and projector by Hugging Face name."""
    ours, theirs = PATCH_NAMES
    found = {theirs: state[ours].view(-1, 3, arch.PATCH, arch.PATCH)}
    found |= {theirs: state[ours] for ours, theirs in _renamed_tower()}
    for ours, parts in _fused():
        found |= dict(zip(parts, state[ours].chunk(3), strict=True))
    # LLaVA reads the tower before its last norm; the layout wants the norm all the same.
    found[f"{TOWER}post_layernorm.weight"] = torch.ones(arch.V_WIDTH)
    found[f"{TOWER}post_layernorm.bias"] = torch.zeros(arch.V_WIDTH)
    return found


def to_hugging_face(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Training state -> tensors by Hugging Face name; the read-outs are left behind."""
    decoder = {theirs: state[ours] for ours, theirs in _renamed_decoder()}
    return tower_to_hugging_face(state) | decoder


def from_hugging_face(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The way back, without the read-outs."""
    ours, theirs = PATCH_NAMES
    state = {ours: tensors[theirs].flatten(1)}
    names = [*_renamed_tower(), *_renamed_decoder()]
    state |= {ours: tensors[theirs] for ours, theirs in names}
    state |= {ours: torch.cat([tensors[part] for part in parts]) for ours, parts in _fused()}
    return state


def read_weights(folder: Path) -> dict[str, Tensor]:
    """The training state of a model folder, in float32."""
    tensors = load_file(folder / WEIGHTS)
    return {name: value.float() for name, value in from_hugging_face(tensors).items()}
