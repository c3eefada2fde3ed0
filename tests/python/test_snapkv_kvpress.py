# SPDX-License-Identifier: GPL-3.0-or-later
"""The kept sets of `snapkv` equal those of kvpress' SnapKVPress on the same keys and queries."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy_probe import Layer, assert_same_choice, probe

torch = pytest.importorskip("torch", reason="torch is not installed")
kvpress = pytest.importorskip("kvpress", reason="kvpress is not installed")
llama = pytest.importorskip("transformers.models.llama.modeling_llama")

pytestmark = pytest.mark.oracle


def attention_layer(seed: int, heads: int, kv_heads: int, tokens: int, dim: int,
                    spread: float) -> tuple[Any, dict[str, Any]]:
    """A Llama attention module with random weights and what it makes of random hidden states."""
    torch.manual_seed(seed)
    config = llama.LlamaConfig(hidden_size=heads * dim, num_attention_heads=heads,
                               num_key_value_heads=kv_heads, head_dim=dim, num_hidden_layers=1,
                               intermediate_size=8, vocab_size=8)
    module = llama.LlamaAttention(config, layer_idx=0).float().eval()
    hidden = spread * torch.randn(1, tokens, heads * dim)
    with torch.no_grad():
        torch.nn.init.normal_(module.q_proj.weight, std=dim**-0.5)
        torch.nn.init.normal_(module.k_proj.weight, std=dim**-0.5)
        cos, sin = llama.LlamaRotaryEmbedding(config)(hidden, torch.arange(tokens)[None])
        shaped = [proj(hidden).view(1, tokens, -1, dim).transpose(1, 2)
                  for proj in (module.q_proj, module.k_proj, module.v_proj)]
        queries, keys = llama.apply_rotary_pos_emb(shaped[0], shaped[1], cos, sin)
    return module, {"hidden": hidden, "queries": queries, "keys": keys, "values": shaped[2],
                    "embeddings": (cos, sin)}


@pytest.mark.parametrize("window,kernel", [(4, 5), (8, 1), (8, 5), (16, 7), (32, 5)])
@pytest.mark.parametrize("heads,kv_heads,tokens,dim,spread",
                         [(4, 2, 80, 16, 1.0), (6, 6, 61, 8, 2.0), (8, 1, 150, 32, 0.3)])
def test_kept_sets_equal_those_of_snapkv_press(tmp_path: Path, window: int, kernel: int, heads: int,
                                               kv_heads: int, tokens: int, dim: int,
                                               spread: float) -> None:
    module, made = attention_layer(window * 1000 + tokens, heads, kv_heads, tokens, dim, spread)
    press = kvpress.SnapKVPress(window_size=window, kernel_size=kernel)
    with torch.no_grad():
        scores = press.score(module, made["hidden"], made["keys"], made["values"], None,
                             {"position_embeddings": made["embeddings"]})[0]
    layer = Layer(made["keys"][0].numpy(), made["values"][0].numpy(),
                  made["queries"][0, :, -window:].numpy())
    budgets = [window + extra for extra in (1, 7, 20)]
    results = probe(tmp_path, layer,
                    *(f"snapkv:budget={b},window={window},pool={kernel}" for b in budgets))
    for budget, result in zip(budgets, results, strict=True):
        assert result["recent"] == window
        for head in range(kv_heads):
            expected = scores[head].double().numpy()
            ours = np.array(result["score"][head][:tokens - window], dtype=np.float64)
            np.testing.assert_allclose(ours, expected[:tokens - window], rtol=0,
                                       atol=1e-5 * expected[:tokens - window].max())
            protected = set(range(tokens - window, tokens))
            assert_same_choice(result["kept"][head], expected, protected, budget)
            # Also as kvpress itself chooses, where no tie leaves it a choice.
            chosen = sorted(scores[head].topk(budget).indices.tolist())
            border = torch.sort(scores[head], descending=True).values[budget - 1:budget + 1]
            if border[0] - border[1] > 1e-6 * expected[:tokens - window].max():
                assert result["kept"][head] == chosen


def test_the_comparison_can_fail() -> None:
    score = np.array([0.5, 0.4, 0.3, 0.2])
    assert_same_choice([0, 1, 3], score, {3}, 3)
    with pytest.raises(AssertionError, match="no tie"):
        assert_same_choice([0, 2, 3], score, {3}, 3)
    with pytest.raises(AssertionError):
        assert_same_choice([0, 1, 2], score, {3}, 3)
