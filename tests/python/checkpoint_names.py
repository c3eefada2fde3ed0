# SPDX-License-Identifier: GPL-3.0-or-later
"""Spellings of tensor names (field case F087): what transformers 5 holds in memory, and what files of releases hold."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from safetensors.torch import load_file, save_file


def renamed(folder: Path, rename: Callable[[str], str]) -> set[str]:
    """Gives the tensors of `folder` other names; returns these."""
    path = folder / "model.safetensors"
    tensors = {rename(name): tensor.clone() for name, tensor in load_file(path).items()}
    save_file(tensors, path, {"format": "pt"})
    return set(tensors)


def newest_layout(name: str) -> str:
    if name.startswith(("model.", "lm_head.")):
        return name
    name = name.removeprefix("language_model.") if name.startswith("language_model.lm_head") else f"model.{name}"
    return name.replace("model.language_model.model.", "model.language_model.")


def oldest_layout(name: str) -> str:
    name = newest_layout(name)
    if name.startswith("lm_head."):
        return f"language_model.{name}"
    return name.removeprefix("model.").replace("language_model.", "language_model.model.")
