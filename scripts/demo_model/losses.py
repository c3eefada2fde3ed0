# SPDX-License-Identifier: GPL-3.0-or-later
"""Losses and scores of one batch. All are means of cross-entropies, in nats."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from demo_model.architecture import EOS, Outputs
from demo_model.batches import IGNORE, Batch

EMPTY_WEIGHT = 0.02  # an empty cell counts this much: there are ten of them to each character


def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """Mean over positions; logits [..., class], target [...] with IGNORE where nothing is asked."""
    return F.cross_entropy(logits.float().flatten(0, -2), target.flatten(), ignore_index=IGNORE)


def _character_loss(logits: Tensor, here: Tensor, wanted: Tensor) -> Tensor:
    """Cross-entropy where something is shown `here`; logits [b, t, character], others [b, t]."""
    weight = torch.where(here > 0, 1.0, EMPTY_WEIGHT)
    loss = F.cross_entropy(logits.float().flatten(0, 1), wanted.flatten(), reduction="none")
    return (loss * weight.flatten()).sum() / weight.sum()


def reading_loss(outputs: Outputs, batch: Batch) -> Tensor:
    """Characters and inks of patches, and the characters one and two places back."""
    characters = batch.characters
    shown = torch.cat([characters, batch.tokens[:, 1:].clamp_max(127)], 1)
    inks = torch.where(batch.patch_inks < 0, IGNORE, batch.patch_inks)
    loss = _character_loss(outputs.characters, characters, characters)
    loss = loss + cross_entropy(outputs.patch_inks, inks)
    for back, logits in enumerate(outputs.back, 1):
        loss = loss + _character_loss(logits, shown[:, back:], shown[:, :-back])
    return loss


def look_up_loss(outputs: Outputs, batch: Batch) -> Tensor:
    """Key and ink of the line which a position belongs to or asks about."""
    return cross_entropy(outputs.keys, batch.keys) + cross_entropy(
        outputs.line_inks, batch.line_inks
    )


def hit_rate(logits: Tensor, target: Tensor) -> float:
    """How much of what is asked comes out right; shapes as in `cross_entropy`."""
    asked = target != IGNORE
    return float(((logits.argmax(-1) == target) & asked).sum() / asked.sum().clamp_min(1))


def exact_answers(logits: Tensor, batch: Batch) -> list[bool]:
    """For each of batch.kinds, whether every token of the answer is right.

    Told the right beginning, as greedy decoding has it if nothing was wrong before: the same thing.
    """
    right = (logits.argmax(-1) == batch.answer).tolist()
    answers, whole = [], True
    for token, hit in zip(batch.answer.tolist(), right, strict=True):
        if token != IGNORE:
            whole = whole and hit
        if token == EOS:
            answers.append(whole)
            whole = True
    return answers
