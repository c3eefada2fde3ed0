# SPDX-License-Identifier: GPL-3.0-or-later
"""A prefill in chunks: the logits of transformers, and the survivors of a prefill in one piece."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from conftest import DEMO_DOCUMENTS, DEMO_MODEL, run_ecokv, run_program
from model_reference import Evictions, assert_close, reference_logits
from tiny_llava import GROUPED, PLAIN, make_checkpoint, random_prompt, run_probe

pytestmark = pytest.mark.oracle

CHUNKS = [1, 7, 64, "N", "N + 9"]
ROUNDING = 1e-4  # what another order of additions may change, of keys, queries and logits in fp32


def tokens_of(chunk: int | str, prompt: int) -> int:
    return chunk if isinstance(chunk, int) else prompt + (9 if chunk == "N + 9" else 0)


@pytest.mark.parametrize("recipe, image_tokens", [(GROUPED, 64), (PLAIN, 65)])
@pytest.mark.parametrize("chunk", CHUNKS)
def test_logits_keys_and_queries_do_not_depend_on_the_chunk(
    tmp_path: Path, recipe: dict[str, Any], image_tokens: int, chunk: int | str,
) -> None:
    model = make_checkpoint(tmp_path / "model", recipe)
    prompt = random_prompt(image_tokens)
    request = prompt.request(tmp_path) | {"forced": [7, 100]}
    whole = run_probe(tmp_path / "model", tmp_path / "whole", **request)
    run = run_probe(tmp_path / "model", tmp_path, chunk=tokens_of(chunk, len(prompt.ids)), **request)
    assert_close(run, reference_logits(model, prompt, [7, 100]))
    for ours, theirs in ((run.logits, whole.logits), (run.keys, whole.keys), (run.queries, whole.queries)):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, atol=ROUNDING, rtol=0)


def test_layers_are_evicted_one_by_one_in_a_prefill_in_chunks_too(tmp_path: Path) -> None:
    """The prompt itself sees all of its keys: only what follows misses the evicted ones."""
    model = make_checkpoint(tmp_path / "model", GROUPED)
    prompt = random_prompt(64)
    tokens, forced = len(prompt.ids), [11, 200, 3]
    evictions = Evictions(layers=3, kv_heads=2, group=3)
    evictions.append(0, tokens)
    rng = np.random.default_rng(17)
    keep = evictions.evict(tokens, lambda layer, head, length: sorted(
        rng.choice(length, size=9 + 4 * layer + 7 * head, replace=False).tolist()))
    evictions.apply_to(model, tokens + len(forced))
    run = run_probe(tmp_path / "model", tmp_path, chunk=16, keep=keep, forced=forced, **prompt.request(tmp_path))
    assert_close(run, reference_logits(model, prompt, forced))


@pytest.mark.parametrize("policy", ["ecokv", "snapkv"])
@pytest.mark.parametrize("name", ["demo", "random"])
def test_every_chunk_size_keeps_the_same_tokens(tmp_path: Path, policy: str, name: str) -> None:
    folder = DEMO_MODEL
    if name == "random":
        folder = tmp_path / "model"
        make_checkpoint(folder, GROUPED)

    def survivors(chunk: int) -> tuple[np.ndarray, str, int]:
        trace = tmp_path / f"{chunk}.ecokv.h5"
        result = run_ecokv("run", "--model", folder, "--image", DEMO_DOCUMENTS / "notice-board.png", "--prompt", "ZXY?",
                           "--policy", policy, "--budget", 48, "--window", 16, "--max-new-tokens", 6,
                           "--prefill-chunk", chunk, "--dtype", "f32", "--trace", trace)
        with h5py.File(trace) as file:
            return file["/policies/0/kept"][:], result["answer"], int(result["prompt_tokens"])

    kept, answer, tokens = survivors(0)
    assert 48 * kept.shape[0] * kept.shape[1] == kept.sum()
    for chunk in CHUNKS:
        got, text, _ = survivors(tokens_of(chunk, tokens))
        np.testing.assert_array_equal(got, kept, err_msg=f"chunk {chunk}")
        assert text == answer


def test_a_negative_chunk_is_refused() -> None:
    done = run_program("ecokv", "run", "--model", DEMO_MODEL, "--prompt", "ZXY?", "--policy", "full",
                       "--prefill-chunk", -3)
    assert done.returncode == 2
    assert "chunks of -3 tokens" in done.stderr
