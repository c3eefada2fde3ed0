# SPDX-License-Identifier: GPL-3.0-or-later
"""Trains the tower: each cell of a page becomes the text embedding of the character drawn in it.

    PYTHONPATH=scripts:resources/demo-135m python -m demo_135m.train_tower LANGUAGE_MODEL tower.safetensors

LANGUAGE_MODEL is the folder of `build.py smollm2`. Twelve minutes on one core. The language model is
never trained: only its embeddings are read.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from demo_model import architecture as arch
from demo_model import documents as docs
from demo_model.batches import to_patches
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import AutoTokenizer

SHAPE_MARKS = "*#^"  # what circle, square and triangle read as
DRAWN = docs.LETTERS + "0123456789:"
EMPTY_WEIGHT = 0.05  # most cells are empty
NEAREST_SHARE = 0.3  # of the loss that wants the nearest embedding to be the right one
RATE, BATCH, SECONDS, SEED = 2e-3, 16, 720.0, 5


class Tower(nn.Module):
    """The demo model's tower with a projector to the width of the language model; its parameters have
    the names of demo_model.architecture."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.patch = nn.Linear(arch.PATCH_SIZE, arch.V_WIDTH, bias=False)
        self.cls = nn.Parameter(torch.randn(arch.V_WIDTH) * 0.02)
        self.position = nn.Parameter(torch.randn(1 + arch.N_IMAGE, arch.V_WIDTH) * 0.02)
        self.pre_norm = nn.LayerNorm(arch.V_WIDTH)
        self.vision = nn.ModuleList(arch.VisionLayer() for _ in range(arch.V_LAYERS))
        self.proj1, self.proj2 = nn.Linear(arch.V_WIDTH, width), nn.Linear(width, width)

    def forward(self, patches: Tensor) -> Tensor:
        """patches [b, N_IMAGE, PATCH_SIZE] -> [b, N_IMAGE, width]."""
        x = self.patch(patches)
        x = torch.cat([self.cls.expand(x.shape[0], 1, -1), x], 1) + self.position
        x = self.pre_norm(x)
        for layer in self.vision:
            x = layer(x)
        return self.proj2(F.gelu(self.proj1(x[:, 1:])))


@dataclass
class Goal:
    """What cells should become, in units of the spread of the embeddings."""

    wanted: Tensor  # [N_CHARACTERS, width] by cell label: 0 nothing, 1..3 a shape, else ASCII
    classes: Tensor  # [class, width], the different ones among them
    index: Tensor  # [N_CHARACTERS] class of a label
    scale: Tensor  # scalar

    def nearest_is_right(self, out: Tensor, labels: Tensor) -> Tensor:
        """[b, N_IMAGE] bool: whether the nearest class of an output is the one of its label."""
        distances = torch.cdist(out.flatten(0, 1), self.classes)
        return (distances.argmin(-1) == self.index[labels].flatten()).view(labels.shape)

    def loss(self, out: Tensor, labels: Tensor) -> Tensor:
        """Squared error plus a share of the cross-entropy of the nearest class."""
        weight = torch.where(labels > 0, 1.0, EMPTY_WEIGHT)
        squared = (out - self.wanted[labels]).pow(2).mean(-1)
        logits = (out @ self.classes.T / self.classes.shape[1] ** 0.5).flatten(0, 1)
        nearest = F.cross_entropy(logits, self.index[labels].flatten(), reduction="none")
        return (squared * weight).sum() / weight.sum() + NEAREST_SHARE * (
            nearest.view(labels.shape) * weight
        ).sum() / weight.sum()


def goal_of(folder: Path, embedding_name: str = "model.embed_tokens.weight") -> Goal:
    """Reads the embeddings of a model folder."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with safe_open(folder / "model.safetensors", "pt") as file:
        embeddings = file.get_tensor(embedding_name).float()
    table = torch.full((arch.N_CHARACTERS,), token_of(tokenizer, " "))
    for shape, mark in enumerate(SHAPE_MARKS, start=1):
        table[shape] = token_of(tokenizer, mark)
    for character in DRAWN:
        table[ord(character)] = token_of(tokenizer, character)
    scale = embeddings[table].std()
    classes, index = table.unique(return_inverse=True)
    return Goal(embeddings[table] / scale, embeddings[classes] / scale, index, scale)


def token_of(tokenizer: AutoTokenizer, character: str) -> int:
    """The id of a character that is a token of its own."""
    (token,) = tokenizer(character, add_special_tokens=False).input_ids
    return int(token)


def draw(rng: np.random.Generator, count: int) -> tuple[Tensor, Tensor]:
    """Fresh pages of 3 to 11 lines: patches [b, N_IMAGE, PATCH_SIZE], labels [b, N_IMAGE]."""
    pages = [docs.sample(rng, int(rng.integers(3, 12))) for _ in range(count)]
    labels = torch.from_numpy(np.stack([page.labels for page in pages]))
    return to_patches(np.stack([page.pixels for page in pages])), labels.long()


def rate_at(step: int, share: float) -> float:
    """Learning rate: a short start, then level, falling over the second half of the time."""
    return RATE * min(1.0, (step + 1) / 100) * min(1.0, (1 - share) / 0.5 + 0.01)


def train(goal: Goal, seconds: float, size: int = BATCH) -> Tower:
    """A tower after `seconds` of training; prints how many cells are right now and then."""
    torch.manual_seed(0)
    model, rng = Tower(goal.classes.shape[1]), np.random.default_rng(SEED)
    optimizer = torch.optim.AdamW(model.parameters(), RATE, betas=(0.9, 0.98), weight_decay=0.01)
    start, step = time.monotonic(), 0
    while (spent := time.monotonic() - start) < seconds:
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, spent / seconds)
        patches, labels = draw(rng, size)
        out = model(patches) / goal.scale
        optimizer.zero_grad()
        goal.loss(out, labels).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
        if step % 50 == 0:
            right = goal.nearest_is_right(out.detach(), labels)[labels > 0].float().mean()
            print(f"step {step}, {spent:.0f} s: {right:.4f} of the drawn cells", flush=True)
    return model


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("language_model", type=Path)
    parser.add_argument("tower", type=Path)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    args = parser.parse_args()
    state = train(goal_of(args.language_model), args.seconds).state_dict()
    save_file({name: value.bfloat16().contiguous() for name, value in state.items()}, args.tower)


if __name__ == "__main__":
    main()
