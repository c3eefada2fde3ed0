# SPDX-License-Identifier: GPL-3.0-or-later
"""Tiny random checkpoints of any family, saved by transformers, and how our model compares with them.

`save_tiny` writes the weights of a random model, `save_tokenizer` the bytes-only tokenizer of the demo with more
special tokens where a family needs them. `check_parity` then runs our model on words and pictures (our tokenizer,
our processor) or on ids, and compares with what the reference answers to its own inputs.
"""
from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from conftest import DEMO_MODEL
from conftest import edit_json as edit_json  # for those who make checkpoints
from model_probe import probe
from tiny_llava import ProbeRun, run_probe
from transformers import AddedToken, PreTrainedModel, PreTrainedTokenizerFast
from transformers.utils.logging import disable_progress_bar

disable_progress_bar()

TOLERANCE = 2e-3  # of a logit in fp32
VOCABULARY = 260  # bytes, <s> 256, </s> 257, <image> 258 and one that no token names
STEPS = 20


# --- checkpoints ----------------------------------------------------------------------------------


def save_tiny(folder: Path, model_class: type[PreTrainedModel], config: Any, *, dtype: torch.dtype = torch.float32,
              seed: int = 0, spread: float = 0.15, **reopen: Any) -> PreTrainedModel:
    """A random `model_class(config)` in `folder`, with the demo's tokenizer if none is there yet; reopened.

    Scales of norms stay near what they begin with (one, or zero where one is added), as do other vectors that are
    no biases; everything else is drawn so large that each layer matters.
    """
    torch.manual_seed(seed)
    model = model_class(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            is_scale = parameter.dim() <= 1 and not name.endswith("bias")
            noise = torch.randn_like(parameter) * spread
            parameter.copy_(parameter + noise if is_scale else noise)
    model.tie_weights()
    model.to(dtype).save_pretrained(folder)
    if not (folder / "tokenizer.json").exists():
        save_tokenizer(folder)
    return load_tiny(folder, model_class, **reopen)


def load_tiny(folder: Path, model_class: type[PreTrainedModel], dtype: torch.dtype = torch.float32,
              **options: Any) -> PreTrainedModel:
    """As transformers opens it (casting a live model would round its rotary table too); never stops at an end token."""
    model = model_class.from_pretrained(folder, dtype=dtype, **options).eval()
    model.generation_config.eos_token_id = None
    return model


def save_tokenizer(folder: Path, specials: Iterable[str] = (), template: str | None = None,
                   **names: Any) -> PreTrainedTokenizerFast:
    """The demo's tokenizer (a token a byte) with `specials` as ids 259, 260, ...; `names` as image_token="...".

    `template` replaces the demo's chat template.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(DEMO_MODEL / "tokenizer.json"), bos_token="<s>",
                                        eos_token="</s>", pad_token="</s>", **names)
    tokenizer.add_tokens([AddedToken(text, special=True, normalized=False) for text in specials])
    tokenizer.chat_template = template or (DEMO_MODEL / "chat_template.jinja").read_text("utf-8")
    tokenizer.save_pretrained(folder)
    return tokenizer


def copy_tiny(source: Path, target: Path, **changes: Any) -> Path:
    """The checkpoint again with other keys in config.json (see edit_json)."""
    shutil.copytree(source, target)
    edit_json(target / "config.json", **changes)
    return target


# --- what transformers answers --------------------------------------------------------------------


@dataclass
class Answer:
    """Greedy tokens and the logits each was chosen from."""

    chosen: list[int]
    logits: np.ndarray  # [step, vocabulary] f32
    keys: list[np.ndarray]  # [layer] of [kvHead, token, dim]: the last tokens of the prompt that the layer kept


def ids_as_inputs(ids: list[int]) -> dict[str, torch.Tensor]:
    return {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}


@torch.no_grad()
def answer_of(reference: PreTrainedModel, inputs: dict[str, Any], steps: int = STEPS) -> Answer:
    tokens = inputs["input_ids"].shape[1]
    cache = reference(**inputs, use_cache=True).past_key_values
    layers = cache.key_cache if hasattr(cache, "key_cache") else [layer.keys for layer in cache.layers]
    keys = [layer[0].float().numpy() for layer in layers if layer is not None]  # linear layers have none
    out = reference.generate(**inputs, max_new_tokens=steps, do_sample=False, output_logits=True,
                             return_dict_in_generate=True)
    chosen = out.sequences[0, tokens:].tolist()
    assert len(chosen) == steps, "the reference stopped early"
    return Answer(chosen, torch.cat(out.logits).float().numpy(), keys)


def divergence(p_logits: np.ndarray, q_logits: np.ndarray) -> float:
    """Largest KL(p || q) over the rows, nats."""
    p = torch.log_softmax(torch.from_numpy(p_logits).double(), -1)
    q = torch.log_softmax(torch.from_numpy(q_logits).double(), -1)
    return float((p.exp() * (p - q)).sum(-1).max())


# --- the comparison -------------------------------------------------------------------------------


def check_parity(folder: Path, out: Path, reference: PreTrainedModel, *, inputs: dict[str, Any] | None = None,
                 ids: list[int] | None = None, text: str | None = None, images: Iterable[Path] = (),
                 template: bool = False, steps: int = STEPS, tolerance: float = TOLERANCE,
                 **request: Any) -> ProbeRun:
    """Ids, logits of the prompt and of `steps` greedy tokens, the tokens and the keys, all against the reference.

    With `text`, our model gets the words and the picture files (`template`: through the chat template) and must come
    to the ids in `inputs`, what the reference's own processor made of the same. With `ids` both get these alone.
    `request` goes to the probe: chunk=7, threads=1, ...
    """
    if inputs is None:
        assert ids is not None, "give ids, or the inputs that belong to the words"
        inputs = ids_as_inputs(ids)
    expected = answer_of(reference, inputs, steps)
    if text is None:
        request["token_ids"] = ids if ids is not None else inputs["input_ids"][0].tolist()
    else:
        request |= {"text": text, "images": [str(path) for path in images], "apply_template": template}
    run = run_probe(folder, out, steps=steps, **request)
    assert run.answer["token_ids"] == inputs["input_ids"][0].tolist()
    assert float(np.abs(expected.logits).max()) > 0.5, "the reference is too flat to compare with"
    np.testing.assert_allclose(run.logits[:steps], expected.logits, atol=tolerance, rtol=0)
    assert run.answer["chosen"] == expected.chosen
    check_keys(run, expected.keys)
    return run


def check_keys(run: ProbeRun, expected: list[np.ndarray]) -> None:
    """A sliding layer of the reference keeps its last window - 1 tokens only, so these are compared."""
    assert len(run.keys) == len(expected)
    for ours, theirs in zip(run.keys, expected, strict=True):
        np.testing.assert_allclose(ours[:, ours.shape[1] - theirs.shape[1]:], theirs, atol=1e-3, rtol=1e-3)


@torch.no_grad()
def check_bf16(folder: Path, out: Path, reference: PreTrainedModel, inputs: dict[str, Any],
               limit: float = 1e-3, **request: Any) -> None:
    """KL between our bf16 logits of the prompt's last token and those of `reference`, opened in bf16."""
    theirs = reference(**inputs).logits[:, -1].float().numpy()
    run = run_probe(folder, out, dtype="bf16", **request)
    assert run.answer["compute_dtype"] == "bfloat16"
    assert divergence(theirs, run.logits[:1]) <= limit


# --- prompts with pictures ------------------------------------------------------------------------


@dataclass
class OurPrompt:
    """What our tokenizer and the family's processor make of words and pictures."""

    text: str
    ids: list[int]
    kinds: list[int]  # [token] 0 text, 1 special, 2 image
    image: list[int]  # [token] picture, -1 = none
    roles: list[int]  # [token] 0 patch, 1 newline, 2 separator, 3 thumbnail
    boxes: list[list[float] | None]  # [token] x0, y0, x1, y1 in source pixels
    rope_positions: np.ndarray  # [token, 3], or [0, 3] where they are the tokens' numbers
    pixels: list[np.ndarray]  # [picture] of f32 in the shape the tower takes
    grids: list[list[int]]  # [picture] time, rows, columns
    answer: dict[str, Any]


def our_prompt(folder: Path, out: Path, text: str, images: Iterable[Path] = (), template: bool = True) -> OurPrompt:
    out.mkdir(parents=True, exist_ok=True)
    request = {"text": text, "images": [str(path) for path in images], "template": template}
    answer = probe("prompt", folder, out, stdin=request)
    pixels = [np.fromfile(item["file"], "<f4").reshape(item["shape"]) for item in answer["inputs"]]
    positions = np.array(answer["rope_positions"], dtype=np.int64).reshape(-1, 3)
    return OurPrompt(answer["text"], answer["ids"], answer["kinds"], answer["image"], answer["roles"], answer["boxes"],
                     positions, pixels, [item["grid"] for item in answer["inputs"]], answer)
