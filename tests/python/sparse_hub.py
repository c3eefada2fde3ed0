# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole folders of published models (hub_models.py) whose weights are holes on disk, shapes and names by transformers."""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from conftest import ROOT
from hub_models import HubModel, write_files
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

sys.path.insert(0, str(ROOT / "scripts"))
from sparse_checkpoint import write_weights  # noqa: E402


def tensors_of(config: Any, model: HubModel) -> dict[str, tuple[int, ...]]:
    """Names and shapes as published, from the reference's own model without memory."""
    text_only = config.architectures[0].endswith("ForCausalLM")
    with torch.device("meta"):
        reference = (AutoModelForCausalLM if text_only else AutoModelForImageTextToText).from_config(config)
    tied = reference.config.tie_word_embeddings
    return {model.published(name): tuple(tensor.shape) for name, tensor in reference.state_dict().items()
            if not (tied and name == "lm_head.weight")}


def write_folder(folder: Path, model: HubModel) -> dict[str, tuple[int, ...]]:
    """All but what the weights hold; returns their shapes."""
    write_files(folder, model)
    tensors = tensors_of(AutoConfig.from_pretrained(folder), model)
    write_weights(folder, tensors, 5_000_000_000)
    return tensors
