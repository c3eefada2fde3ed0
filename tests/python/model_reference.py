# SPDX-License-Identifier: GPL-3.0-or-later
"""What transformers answers for a prompt, with evicted keys hidden by a mask where there were evictions."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from tiny_llava import PictureAndWords, ProbeRun
from transformers import LlavaForConditionalGeneration

TOLERANCE = 1e-3  # of a logit, fp32


@torch.no_grad()
def reference_logits(model: LlavaForConditionalGeneration, prompt: PictureAndWords,
                     forced: list[int] | None = None) -> np.ndarray:
    """Logits after the prompt and after each forced token, [1 + step, vocabulary]."""
    whole = PictureAndWords(prompt.ids + (forced or []), prompt.pixels)
    logits = model(**whole.inputs()).logits[0, len(prompt.ids) - 1:]
    return logits.float().numpy()


def assert_close(run: ProbeRun, reference: np.ndarray) -> None:
    assert run.logits.shape == reference.shape
    assert float(np.abs(reference).max()) > 0.5, "the reference is too flat to compare with"
    np.testing.assert_allclose(run.logits, reference, atol=TOLERANCE, rtol=0)


@dataclass
class Evictions:
    """Who sees whom when keys are evicted now and then; positions are true positions."""

    layers: int
    kv_heads: int
    group: int  # query heads of a KV head
    kept: list[list[list[int]]] = field(init=False)  # [layer][kvHead][row] position, as the cache holds it
    hidden: list[tuple[int, list[list[list[int]]]]] = field(default_factory=list)  # from row, [layer][kvHead] evicted

    def __post_init__(self) -> None:
        self.kept = [[[] for _ in range(self.kv_heads)] for _ in range(self.layers)]

    def append(self, first: int, count: int) -> None:
        for layer in self.kept:
            for head in layer:
                head.extend(range(first, first + count))

    def evict(self, seen: int, choose: Callable[[int, int, int], list[int]]) -> list[list[list[int]]]:
        """Keeps rows choose(layer, head, length); later queries (from `seen` on) miss the others."""
        rows = [[choose(layer, head, len(self.kept[layer][head])) for head in range(self.kv_heads)]
                for layer in range(self.layers)]
        gone = []
        for layer in range(self.layers):
            gone.append([[p for row, p in enumerate(self.kept[layer][head]) if row not in set(rows[layer][head])]
                         for head in range(self.kv_heads)])
            self.kept[layer] = [[self.kept[layer][head][row] for row in rows[layer][head]]
                                for head in range(self.kv_heads)]
        self.hidden.append((seen, gone))
        return rows

    def mask(self, layer: int, total: int, window: int = 0) -> torch.Tensor:
        """Additive [1, head, query, key]."""
        visible = torch.tril(torch.ones(total, total, dtype=torch.bool))
        if window:
            visible &= torch.triu(torch.ones(total, total, dtype=torch.bool), diagonal=1 - window)
        visible = visible.repeat(self.kv_heads, 1, 1)
        for seen, gone in self.hidden:
            for head in range(self.kv_heads):
                visible[head, seen:, gone[layer][head]] = False
        mask = torch.zeros(visible.shape).masked_fill(~visible, float("-inf"))
        return mask.repeat_interleave(self.group, dim=0).unsqueeze(0)

    def apply_to(self, model: LlavaForConditionalGeneration, total: int, windows: list[int] | None = None) -> None:
        """Every later pass of `model` over `total` tokens sees what the cache would have held."""
        model.set_attn_implementation("eager")

        def hide(layer: int) -> Callable[..., Any]:
            mask = self.mask(layer, total, windows[layer] if windows else 0)
            return lambda _module, args, options: (args, options | {"attention_mask": mask})

        for layer, module in enumerate(model.model.language_model.layers):
            module.register_forward_pre_hook(hide(layer), with_kwargs=True)
