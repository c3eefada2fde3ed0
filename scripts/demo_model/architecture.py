# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo model in training: LLaVA-1.5 layout, 1.9 M parameters, and training-only read-outs.

A CLIP tower (2 layers of 96) looks at 256 patches of 12 px, a two-layer projector takes them to
the width of a Llama decoder (6 layers of 128, 8 query heads over 4 KV heads of 32). A sequence is
<s>, 256 image tokens and 112 text tokens. `b` is the batch; all tensors are float32, or bfloat16
under autocast.

The read-outs name what a state should know at a depth: the character and ink of a patch after the
projector, the characters one and two places back after the second decoder layer, the key of the
line after the third and the line's ink after the fourth. They are dropped at export.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from demo_model import documents as docs

PATCH, GRID = docs.CELL, docs.GRID
PATCH_SIZE = 3 * PATCH * PATCH
N_IMAGE, N_TEXT = GRID * GRID, 112
LENGTH = 1 + N_IMAGE + N_TEXT
BOS, EOS, IMAGE, VOCAB = 256, 257, 258, 260
N_CHARACTERS = 128  # what a read-out can name: ASCII, with 0 nothing and 1..3 a shape
WIDTH, LAYERS, HEADS, KV_HEADS, HEAD_DIM, MLP = 128, 6, 8, 4, 32, 384
ROPE_THETA, NORM_EPS = 10000.0, 1e-5
V_WIDTH, V_LAYERS, V_HEADS = 96, 2, 3
READ_OUTS = ("patch_ink", "back", "key", "line_ink")
BACK_LAYER, KEY_LAYER, LINE_INK_LAYER = 1, 2, 3  # decoder layers after which a read-out looks


class RmsNorm(nn.Module):
    """Root-mean-square normalisation over the last dimension, in float32."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + NORM_EPS)
        return x * scale * self.weight


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding in the half-split layout; x [b, head, token, dim], cos/sin [token, dim]."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


def _linear(inputs: int, outputs: int) -> nn.Linear:
    return nn.Linear(inputs, outputs, bias=False)


def _split_heads(x: Tensor, heads: int) -> Tensor:
    """[b, token, heads * dim] -> [b, head, token, dim]."""
    return x.unflatten(-1, (heads, HEAD_DIM)).transpose(1, 2)


class DecoderLayer(nn.Module):
    """A Llama layer with grouped queries."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = RmsNorm(WIDTH), RmsNorm(WIDTH)
        self.q = _linear(WIDTH, HEADS * HEAD_DIM)
        self.k, self.v = (_linear(WIDTH, KV_HEADS * HEAD_DIM) for _ in range(2))
        self.o = _linear(HEADS * HEAD_DIM, WIDTH)
        self.gate, self.up = _linear(WIDTH, MLP), _linear(WIDTH, MLP)
        self.down = _linear(MLP, WIDTH)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        """x [b, token, WIDTH], mask [last, token] bool -> [b, last, WIDTH], the last positions."""
        h, last = self.norm1(x), mask.shape[0]
        v = _split_heads(self.v(h), KV_HEADS)
        q = rotate(_split_heads(self.q(h[:, -last:]), HEADS), cos[-last:], sin[-last:]).to(v.dtype)
        k = rotate(_split_heads(self.k(h), KV_HEADS), cos, sin).to(v.dtype)
        k, v = (y.repeat_interleave(HEADS // KV_HEADS, 1) for y in (k, v))
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x[:, -last:] + self.o(attended.transpose(1, 2).flatten(2))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class VisionLayer(nn.Module):
    """A CLIP layer (GELU by the logistic function)."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(V_WIDTH), nn.LayerNorm(V_WIDTH)
        self.qkv, self.o = nn.Linear(V_WIDTH, 3 * V_WIDTH), nn.Linear(V_WIDTH, V_WIDTH)
        self.fc1, self.fc2 = nn.Linear(V_WIDTH, 4 * V_WIDTH), nn.Linear(4 * V_WIDTH, V_WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        """x [b, 1 + N_IMAGE, V_WIDTH] -> the same."""
        split = self.qkv(self.norm1(x)).unflatten(-1, (3, V_HEADS, V_WIDTH // V_HEADS))
        q, k, v = split.permute(2, 0, 3, 1, 4)
        x = x + self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        h = self.fc1(self.norm2(x))
        return x + self.fc2(h * torch.sigmoid(1.702 * h))


class Outputs(NamedTuple):
    """Logits of one forward pass; `here` stands for N_IMAGE + N_TEXT positions, <s> left out."""

    answer: Tensor  # [n, VOCAB] at the positions asked for
    characters: Tensor  # [b, N_IMAGE, N_CHARACTERS] of each patch
    patch_inks: Tensor  # [b, N_IMAGE, inks]
    back: tuple[Tensor, Tensor]  # [b, here - 1 | 2, N_CHARACTERS] one and two places back
    keys: Tensor  # [b, here, KEY_LENGTH, letters]
    line_inks: Tensor  # [b, N_TEXT, inks]


class DemoModel(nn.Module):
    """The whole model; the names of its parameters are mapped by `hugging_face`."""

    cos: Tensor  # [LENGTH, HEAD_DIM]
    sin: Tensor  # [LENGTH, HEAD_DIM]
    causal: Tensor  # [LENGTH, LENGTH] bool, query by key

    def __init__(self) -> None:
        super().__init__()
        self.patch = _linear(PATCH_SIZE, V_WIDTH)
        self.cls = nn.Parameter(torch.randn(V_WIDTH) * 0.02)
        self.position = nn.Parameter(torch.randn(1 + N_IMAGE, V_WIDTH) * 0.02)
        self.pre_norm = nn.LayerNorm(V_WIDTH)
        self.vision = nn.ModuleList(VisionLayer() for _ in range(V_LAYERS))
        self.proj1, self.proj2 = nn.Linear(V_WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.layers = nn.ModuleList(DecoderLayer() for _ in range(LAYERS))
        self.norm, self.head = RmsNorm(WIDTH), _linear(WIDTH, VOCAB)
        self.back = nn.ModuleList(nn.Linear(WIDTH, N_CHARACTERS) for _ in range(2))
        self.patch_ink = nn.Linear(WIDTH, len(docs.INKS))
        self.key = nn.Linear(WIDTH, docs.KEY_LENGTH * len(docs.LETTERS))
        self.line_ink = nn.Linear(WIDTH, len(docs.INKS))
        nn.init.normal_(self.embed.weight, std=0.02)
        frequency = ROPE_THETA ** (-torch.arange(0, HEAD_DIM, 2) / HEAD_DIM)
        angle = torch.outer(torch.arange(LENGTH).float(), frequency).repeat(1, 2)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)
        causal = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
        self.register_buffer("causal", causal, persistent=False)

    def look(self, patches: Tensor) -> Tensor:
        """patches [b, N_IMAGE, PATCH_SIZE] -> image tokens [b, N_IMAGE, WIDTH]."""
        x = self.patch(patches)
        x = torch.cat([self.cls.to(x.dtype).expand(x.shape[0], 1, -1), x], 1) + self.position
        x = self.pre_norm(x)
        for layer in self.vision:
            x = layer(x)
        return self.proj2(F.gelu(self.proj1(x[:, 1:])))

    def forward(self, patches: Tensor, tokens: Tensor, index: Tensor) -> Outputs:
        """Runs whole sequences.

        patches [b, N_IMAGE, PATCH_SIZE]; tokens [b, 1 + N_TEXT] int64, <s> first; index [n] int64
        into the flattened [b * N_TEXT] text positions whose next token is wanted.
        """
        seen, text = self.look(patches), self.embed(tokens)
        states = []
        x = torch.cat([text[:, :1], seen.to(text.dtype), text[:, 1:]], 1)
        for layer in self.layers[:-1]:
            x = layer(x, self.cos, self.sin, self.causal)
            states.append(x)
        # Nothing reads the last layer at image positions.
        x = self.layers[-1](x, self.cos, self.sin, self.causal[-N_TEXT:])
        after = states[BACK_LAYER]
        keys = self.key(states[KEY_LAYER][:, 1:])
        return Outputs(
            answer=self.head(self.norm(x.reshape(-1, WIDTH)[index])),
            # Read through the text embedding, so that a drawn letter and a typed one look alike.
            characters=F.linear(seen, self.embed.weight[:N_CHARACTERS]),
            patch_inks=self.patch_ink(seen),
            back=(self.back[0](after[:, 2:]), self.back[1](after[:, 3:])),
            keys=keys.unflatten(-1, (docs.KEY_LENGTH, len(docs.LETTERS))),
            line_inks=self.line_ink(states[LINE_INK_LAYER][:, 1 + N_IMAGE :]),
        )
