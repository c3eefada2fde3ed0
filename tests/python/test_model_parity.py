# SPDX-License-Identifier: GPL-3.0-or-later
"""Our model against transformers: logits, answers, keys, queries, eviction, layouts of checkpoints."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from checkpoint_names import newest_layout, oldest_layout, renamed
from conftest import DEMO_DOCUMENTS, DEMO_MODEL
from model_reference import Evictions, assert_close, reference_logits
from PIL import Image
from safetensors.torch import load_file, save_file
from tiny_llava import (
    GROUPED,
    PLAIN,
    PictureAndWords,
    edit_config,
    load_reference,
    make_checkpoint,
    random_prompt,
    run_probe,
    start_probe,
)
from transformers import AutoProcessor, LlavaForConditionalGeneration
from transformers.models.llama import modeling_llama

pytestmark = pytest.mark.oracle


# --- the demo model -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo() -> tuple[LlavaForConditionalGeneration, Any]:
    model = LlavaForConditionalGeneration.from_pretrained(DEMO_MODEL, dtype=torch.float32).eval()
    return model, AutoProcessor.from_pretrained(DEMO_MODEL)


@pytest.mark.parametrize("index", range(5))
def test_demo_documents_give_the_same_ids_logits_and_answers(
    demo: tuple[LlavaForConditionalGeneration, Any], demo_documents: list[dict[str, Any]], tmp_path: Path, index: int,
) -> None:
    model, processor = demo
    document = demo_documents[index]
    question = document["questions"][0]["question"]
    picture = DEMO_DOCUMENTS / document["file"]
    message = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": question}]}
    text = processor.apply_chat_template([message], add_generation_prompt=True)
    inputs = processor(images=Image.open(picture), text=text, return_tensors="pt", add_special_tokens=False)
    ids = inputs["input_ids"][0].tolist()
    answer = model.generate(**inputs, max_new_tokens=6, do_sample=False)[0, len(ids):].tolist()

    run = run_probe(DEMO_MODEL, tmp_path, text=question, images=[str(picture)], steps=len(answer))

    assert run.answer["token_ids"] == ids
    assert run.answer["chosen"] == answer
    assert_close(run, reference_logits(model, PictureAndWords(ids, inputs["pixel_values"]), answer))


# --- tiny random checkpoints ----------------------------------------------------------------------

# recipe, image tokens of a picture
RECIPES: dict[str, tuple[dict[str, Any], int]] = {"grouped": (GROUPED, 64), "plain": (PLAIN, 65)}


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("pictures", [0, 1, 2])
def test_random_checkpoints_give_the_same_logits(tmp_path: Path, name: str, pictures: int) -> None:
    recipe, image_tokens = RECIPES[name]
    model = make_checkpoint(tmp_path / "model", recipe)
    prompt = random_prompt(image_tokens, pictures)
    forced = [7, 100, 42]
    run = run_probe(tmp_path / "model", tmp_path, forced=forced, **prompt.request(tmp_path))
    assert_close(run, reference_logits(model, prompt, forced))
    assert run.answer["tokens_seen"] == [len(prompt.ids) + i for i in range(4)]


def test_observer_gets_the_keys_of_the_cache_and_the_last_rotated_queries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = make_checkpoint(tmp_path / "model", GROUPED)
    model.set_attn_implementation("eager")
    captured: list[torch.Tensor] = []
    eager = modeling_llama.eager_attention_forward

    def capture(module: Any, query: torch.Tensor, *rest: Any, **options: Any) -> Any:
        captured.append(query[0, :, -8:].clone())
        return eager(module, query, *rest, **options)

    monkeypatch.setattr(modeling_llama, "eager_attention_forward", capture)
    prompt = random_prompt(64)
    with torch.no_grad():
        cache = model(**prompt.inputs(), use_cache=True).past_key_values
    run = run_probe(tmp_path / "model", tmp_path, **prompt.request(tmp_path))
    for layer in range(3):
        np.testing.assert_allclose(run.keys[layer], cache.layers[layer].keys[0].numpy(), atol=1e-4)
        np.testing.assert_allclose(run.queries[layer], captured[layer].numpy(), atol=1e-4)


# --- eviction: positions and masks (field cases F017, F019) ---------------------------------------

KeepRule = Callable[[np.random.Generator, int, int, int], list[int]]


def same_number(rng: np.random.Generator, tokens: int, layer: int, head: int) -> list[int]:
    return sorted(rng.choice(tokens, size=24, replace=False).tolist())


def ragged(rng: np.random.Generator, tokens: int, layer: int, head: int) -> list[int]:
    return sorted(rng.choice(tokens, size=5 + 9 * layer + 4 * head, replace=False).tolist())


@pytest.mark.parametrize("rule", [same_number, ragged])
def test_decoding_from_an_evicted_cache_equals_masking_the_evicted_tokens(tmp_path: Path, rule: KeepRule) -> None:
    """Reference: one pass over prompt and answer; rows after the prompt do not see evicted keys."""
    model = make_checkpoint(tmp_path / "model", GROUPED)
    prompt = random_prompt(64)
    forced = [11, 200, 3, 77, 5]
    tokens, total = len(prompt.ids), len(prompt.ids) + len(forced)
    rng = np.random.default_rng(5)
    evictions = Evictions(layers=3, kv_heads=2, group=3)
    evictions.append(0, tokens)
    keep = evictions.evict(tokens, lambda layer, head, length: rule(rng, length, layer, head))
    evictions.apply_to(model, total)
    reference = reference_logits(model, prompt, forced)

    run = run_probe(tmp_path / "model", tmp_path, forced=forced, keep=keep, **prompt.request(tmp_path))
    assert_close(run, reference)
    assert run.answer["tokens_seen"] == list(range(tokens, total + 1))
    whole = run_probe(tmp_path / "model", tmp_path / "whole", forced=forced, **prompt.request(tmp_path))
    assert np.abs(whole.logits[1:] - run.logits[1:]).max() > 0.05, "the eviction must matter"


# --- layouts and spellings of checkpoints ---------------------------------------------------------


@pytest.mark.parametrize("layout", [newest_layout, oldest_layout])
def test_both_layouts_of_names_load_to_the_same_model(tmp_path: Path, layout: Callable[[str], str]) -> None:
    """Field case F087."""
    folder = tmp_path / "model"
    model = make_checkpoint(folder, PLAIN)
    renamed(folder, layout)
    names = set(load_file(folder / "model.safetensors"))
    assert ("lm_head.weight" in names) == (layout is newest_layout)
    prompt = random_prompt(65)
    assert_close(run_probe(folder, tmp_path, **prompt.request(tmp_path)), reference_logits(model, prompt))


@pytest.mark.parametrize("stored", ["no head", "equal head"])
def test_a_tied_head_is_the_embedding_with_or_without_a_copy_in_the_file(tmp_path: Path, stored: str) -> None:
    """Field case F089."""
    folder = tmp_path / "model"
    model = make_checkpoint(folder, GROUPED)
    tensors = {newest_layout(name): t.clone() for name, t in load_file(folder / "model.safetensors").items()}
    tensors.pop("lm_head.weight", None)
    if stored == "equal head":
        tensors["lm_head.weight"] = tensors["model.language_model.embed_tokens.weight"].clone()
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    prompt = random_prompt(64)
    run = run_probe(folder, tmp_path, **prompt.request(tmp_path))
    assert_close(run, reference_logits(model, prompt))
    assert "lm_head" not in run.log


def test_a_head_that_contradicts_the_tie_is_reported(tmp_path: Path) -> None:
    """Field case F089: both matrices are used, as transformers 5 does, and the log says so."""
    folder = tmp_path / "model"
    model = make_checkpoint(folder, GROUPED)
    tensors = {newest_layout(name): t.clone() for name, t in load_file(folder / "model.safetensors").items()}
    tensors["lm_head.weight"] = torch.randn(260, 96, generator=torch.Generator().manual_seed(9))
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    model.lm_head.weight = torch.nn.Parameter(tensors["lm_head.weight"])
    prompt = random_prompt(64)
    run = run_probe(folder, tmp_path, **prompt.request(tmp_path))
    assert_close(run, reference_logits(model, prompt))
    assert "lm_head" in run.log


def test_an_absent_head_of_an_untied_model_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    make_checkpoint(folder, PLAIN)
    tensors = {n: t for n, t in load_file(folder / "model.safetensors").items() if "lm_head" not in n}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    done = start_probe(folder, tmp_path, **random_prompt(65).request(tmp_path))
    assert done.returncode == 3
    assert "lm_head.weight" in done.stderr


@pytest.mark.parametrize("spelling", ["rope_parameters", "rope_theta"])
def test_rotary_base_is_read_in_both_spellings(tmp_path: Path, spelling: str) -> None:
    """Field case F091: theta 1e6 at position 3000."""
    recipe = PLAIN | {"text": PLAIN["text"] | {
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}}
    folder = tmp_path / "model"
    model = make_checkpoint(folder, recipe)

    def respell(config: dict[str, Any]) -> None:
        del config["text_config"]["rope_parameters"]
        config["text_config"]["rope_theta"] = 1e6

    if spelling == "rope_theta":
        edit_config(folder, respell)
    prompt = random_prompt(65, pictures=0, words=3000)
    assert_close(run_probe(folder, tmp_path, **prompt.request(tmp_path)), reference_logits(model, prompt))


def test_every_tensor_that_does_not_fit_is_named_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    make_checkpoint(folder, PLAIN)
    renamed(folder, newest_layout)
    path = folder / "model.safetensors"
    tensors = load_file(path)
    layer = "model.language_model.layers.1."
    del tensors[f"{layer}mlp.up_proj.weight"]
    del tensors["model.multi_modal_projector.linear_2.weight"]
    tensors[f"{layer}self_attn.k_proj.weight"] = torch.zeros(32, 64)
    tensors[f"{layer}self_attn.q_proj.bias"] = torch.zeros(64)
    save_file(tensors, path, {"format": "pt"})
    done = start_probe(folder, tmp_path, **random_prompt(65).request(tmp_path))
    assert done.returncode == 3
    for wanted in (f"{layer}mlp.up_proj.weight [96, 64]", "model.multi_modal_projector.linear_2.weight",
                   f"{layer}self_attn.k_proj.weight is F32 [32, 64], wanted [64, 64]",
                   f"{layer}self_attn.q_proj.bias"):
        assert wanted in done.stderr


# --- dtypes ---------------------------------------------------------------------------------------


def test_fp16_checkpoints_compute_in_f32_on_a_cpu(tmp_path: Path) -> None:
    """Field case F171."""
    model = make_checkpoint(tmp_path / "model", GROUPED, torch.float16)
    prompt = random_prompt(64)
    run = run_probe(tmp_path / "model", tmp_path, dtype="auto", forced=[1, 2], **prompt.request(tmp_path))
    assert run.answer["compute_dtype"] == "float32"
    assert_close(run, reference_logits(model, prompt, [1, 2]))


def test_bf16_is_as_close_to_f32_as_transformers_in_bf16(tmp_path: Path) -> None:
    """Field case F172: rounding differs, so the two are compared by their distance to fp32."""
    model = make_checkpoint(tmp_path / "model", GROUPED, torch.bfloat16)
    prompt = random_prompt(64)
    exact = reference_logits(model, prompt, [9, 8])
    theirs = load_reference(tmp_path / "model", torch.bfloat16)
    rounded = PictureAndWords(prompt.ids, prompt.pixels.to(torch.bfloat16) if prompt.pixels is not None else None)
    their_error = np.sqrt(np.mean((reference_logits(theirs, rounded, [9, 8]) - exact) ** 2))
    run = run_probe(tmp_path / "model", tmp_path, dtype="bf16", forced=[9, 8], **prompt.request(tmp_path))
    our_error = np.sqrt(np.mean((run.logits - exact) ** 2))
    assert run.answer["compute_dtype"] == "bfloat16"
    assert 0 < our_error < 1.3 * their_error
