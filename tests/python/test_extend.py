# SPDX-License-Identifier: GPL-3.0-or-later
"""More tokens behind a cache that was evicted, against transformers with the evicted keys masked."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from model_reference import Evictions, assert_close, reference_logits
from tiny_llava import GROUPED, PLAIN, load_reference, make_checkpoint, random_prompt, run_probe
from transformers import LlavaForConditionalGeneration
from transformers.models.llama import modeling_llama

pytestmark = pytest.mark.oracle

Choose = Callable[[int, int, int], list[int]]
# layers, KV heads, query heads of each
GROUPED_SHAPE = (3, 2, 3)
PLAIN_SHAPE = (2, 4, 1)


def keep_30(seed: int) -> Choose:
    """30 rows of each head, different ones."""
    rng = np.random.default_rng(seed)
    return lambda layer, head, length: sorted(rng.choice(length, size=min(30, length), replace=False).tolist())


def keep_ragged(seed: int) -> Choose:
    """30 rows a head on average, other numbers in every head."""
    rng = np.random.default_rng(seed)
    return lambda layer, head, length: sorted(
        rng.choice(length, size=min((21 if head % 2 else 39) - layer, length), replace=False).tolist())


def rows_at(model: LlavaForConditionalGeneration, ids: list[int], rows: list[int]) -> np.ndarray:
    with torch.no_grad():
        logits: torch.Tensor = model(input_ids=torch.tensor([ids])).logits[0]
    return logits[rows].numpy()


@pytest.mark.parametrize("rule", [keep_30, keep_ragged])
@pytest.mark.parametrize("recipe, shape", [(GROUPED, GROUPED_SHAPE), (PLAIN, PLAIN_SHAPE)])
def test_twenty_tokens_behind_an_evicted_prompt_of_forty(
    tmp_path: Path, rule: Callable[[int], Choose], recipe: dict[str, Any], shape: tuple[int, int, int],
) -> None:
    """Field case F019; the next position is 40, not 30 (F017)."""
    model = make_checkpoint(tmp_path / "model", recipe)
    ids = random_prompt(64, pictures=0, words=64).ids
    first, second, forced = ids[:40], ids[40:60], ids[60:64]
    evictions = Evictions(*shape)
    evictions.append(0, 40)
    keep = evictions.evict(40, rule(7))
    evictions.apply_to(model, 64)
    reference = rows_at(model, ids[:64], [39, 59, 60, 61, 62, 63])

    run = run_probe(tmp_path / "model", tmp_path, token_ids=first, keep=keep, then=[{"extend": second}],
                    forced=forced)
    assert_close(run, reference)
    assert run.answer["tokens_seen"] == [60, 61, 62, 63, 64]
    whole = run_probe(tmp_path / "model", tmp_path / "whole", token_ids=first, then=[{"extend": second}])
    assert np.abs(whole.logits[1] - run.logits[1]).max() > 0.05, "the eviction must matter"


@pytest.mark.parametrize("rule", [keep_30, keep_ragged])
def test_sixty_tokens_in_chunks_of_twenty_with_evictions_between(tmp_path: Path, rule: Callable[[int], Choose]) -> None:
    """Field case F019 as it is written down: the cache is cut to 30 rows a head after every chunk."""
    model = make_checkpoint(tmp_path / "model", GROUPED)
    ids = random_prompt(64, pictures=0, words=62).ids
    evictions = Evictions(*GROUPED_SHAPE)
    choose = rule(11)
    evictions.append(0, 20)
    then: list[dict[str, Any]] = []
    for begin in (20, 40):
        evictions.append(begin, 20)
        then += [{"extend": ids[begin:begin + 20]}, {"keep": evictions.evict(begin + 20, choose)}]
    evictions.apply_to(model, 62)
    reference = rows_at(model, ids[:62], [19, 39, 59, 60, 61])

    run = run_probe(tmp_path / "model", tmp_path, token_ids=ids[:20], then=then, forced=ids[60:62])
    assert_close(run, reference)
    assert run.answer["tokens_seen"] == [60, 61, 62]


def test_a_picture_is_still_seen_behind_its_eviction(tmp_path: Path) -> None:
    model = make_checkpoint(tmp_path / "model", GROUPED)
    prompt = random_prompt(64)
    tokens = len(prompt.ids)
    question = [11, 200, 3, 77, 5, 90, 91]
    evictions = Evictions(*GROUPED_SHAPE)
    evictions.append(0, tokens)
    keep = evictions.evict(tokens, keep_ragged(3))
    evictions.apply_to(model, tokens + len(question))
    reference = reference_logits(model, prompt, question)[[0, -1]]
    run = run_probe(tmp_path / "model", tmp_path, keep=keep, then=[{"extend": question}], **prompt.request(tmp_path))
    assert_close(run, reference)


def test_a_whole_prompt_may_come_in_pieces(tmp_path: Path) -> None:
    model = make_checkpoint(tmp_path / "model", PLAIN)
    ids = random_prompt(65, pictures=0, words=79).ids
    then = [{"extend": ids[1:2]}, {"extend": ids[2:9]}, {"extend": ids[9:80]}]
    run = run_probe(tmp_path / "model", tmp_path, token_ids=ids[:1], then=then)
    assert_close(run, rows_at(model, ids, [0, 1, 8, 79]))


def test_bf16_extension_is_as_close_to_f32_as_transformers_in_bf16(tmp_path: Path) -> None:
    exact = make_checkpoint(tmp_path / "model", GROUPED, torch.bfloat16)
    ids = random_prompt(64, pictures=0, words=60).ids
    rows = [39, 59]
    wanted = rows_at(exact, ids[:60], rows)
    theirs = load_reference(tmp_path / "model", torch.bfloat16)
    with torch.no_grad():
        rounded = theirs(input_ids=torch.tensor([ids[:60]])).logits[0, rows].float().numpy()
    run = run_probe(tmp_path / "model", tmp_path, dtype="bf16", token_ids=ids[:40], then=[{"extend": ids[40:60]}])
    our_error = np.sqrt(np.mean((run.logits - wanted) ** 2))
    assert 0 < our_error < 1.3 * np.sqrt(np.mean((rounded - wanted) ** 2))


def test_a_decoding_step_hands_over_its_rotated_query_and_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_checkpoint(tmp_path / "model", GROUPED)
    model.set_attn_implementation("eager")
    captured: list[tuple[torch.Tensor, torch.Tensor]] = []
    eager = modeling_llama.eager_attention_forward

    def capture(module: Any, query: torch.Tensor, key: torch.Tensor, *rest: Any, **options: Any) -> Any:
        captured.append((query[0].clone(), key[0].clone()))
        return eager(module, query, key, *rest, **options)

    monkeypatch.setattr(modeling_llama, "eager_attention_forward", capture)
    ids = random_prompt(64, pictures=0, words=43).ids
    with torch.no_grad():
        model(input_ids=torch.tensor([ids]))
    run = run_probe(tmp_path / "model", tmp_path, token_ids=ids[:41], forced=ids[41:44], observe=True)
    queries, keys = np.load(tmp_path / "step_queries.npy"), np.load(tmp_path / "step_keys.npy")
    assert queries.shape == (3, 3, 6, 24) and keys.shape == (3, 3, 2, 24)
    for step in range(3):
        for layer in range(3):
            query, key = captured[layer]
            np.testing.assert_allclose(queries[step, layer], query[:, 41 + step].numpy(), atol=1e-4)
            np.testing.assert_allclose(keys[step, layer], key[:, 41 + step].numpy(), atol=1e-4)
    assert run.answer["tokens_seen"] == [41, 42, 43, 44]
