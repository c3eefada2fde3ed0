# SPDX-License-Identifier: GPL-3.0-or-later
"""Language models without eyes against transformers: ids, logits, keys and 20 greedy tokens of each decoder."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import run_ecokv
from tiny_llava import start_probe
from tiny_models import (
    VOCABULARY,
    check_bf16,
    check_parity,
    copy_tiny,
    ids_as_inputs,
    load_tiny,
    save_tiny,
)
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3_5ForCausalLM,
    Qwen3_5TextConfig,
    Qwen3Config,
    Qwen3ForCausalLM,
)

pytestmark = pytest.mark.oracle

SMALL = {"vocab_size": VOCABULARY, "bos_token_id": 256, "eos_token_id": 257, "pad_token_id": 257, "hidden_size": 64,
         "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
         "max_position_embeddings": 4096}
DEFAULT = {"rope_type": "default", "rope_theta": 1e6}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 128}
YARN = {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0, "original_max_position_embeddings": 64}
ALTERNATING = ["sliding_attention", "full_attention", "sliding_attention"]
GEMMA_ROPES = {"full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
               "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}

LINEAR = {"linear_key_head_dim": 8, "linear_value_head_dim": 12}

Recipe = tuple[type[PreTrainedModel], Any, dict[str, Any]]
RECIPES: dict[str, Recipe] = {
    # F095: head_dim != hidden / heads
    "llama-tied": (LlamaForCausalLM, LlamaConfig, {"tie_word_embeddings": True, "head_dim": 32, "attention_bias": True,
                                                   "mlp_bias": True, "rope_parameters": LLAMA3}),
    "llama": (LlamaForCausalLM, LlamaConfig, {"num_key_value_heads": 4, "rope_parameters": YARN}),
    "mistral-sliding": (MistralForCausalLM, MistralConfig, {"sliding_window": 24, "head_dim": 24,
                                                            "rope_parameters": DEFAULT}),
    "mistral-tied": (MistralForCausalLM, MistralConfig, {"sliding_window": None, "tie_word_embeddings": True,
                                                         "rope_parameters": {"rope_type": "linear", "factor": 2.0,
                                                                             "rope_theta": 1e4}}),
    # F034: sliding, full, sliding
    "qwen2": (Qwen2ForCausalLM, Qwen2Config, {"use_sliding_window": True, "sliding_window": 16,
                                              "layer_types": ALTERNATING, "rope_parameters": DEFAULT}),
    "qwen2-tied": (Qwen2ForCausalLM, Qwen2Config, {"tie_word_embeddings": True, "num_attention_heads": 8,
                                                   "rope_parameters": YARN | {"attention_factor": 1.3}}),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config, {"head_dim": 32, "rope_parameters": DEFAULT}),
    "qwen3-tied": (Qwen3ForCausalLM, Qwen3Config, {"head_dim": 8, "tie_word_embeddings": True, "attention_bias": True,
                                                   "use_sliding_window": True, "sliding_window": 16,
                                                   "max_window_layers": 1, "rope_parameters": YARN}),
    "gemma3": (Gemma3ForCausalLM, Gemma3TextConfig, {"head_dim": 32, "sliding_window": 16, "query_pre_attn_scalar": 50,
                                                     "layer_types": ALTERNATING, "rope_parameters": GEMMA_ROPES}),
    "gemma3-untied": (Gemma3ForCausalLM, Gemma3TextConfig, {"head_dim": 16, "sliding_window": 24,
                                                            "query_pre_attn_scalar": 16, "sliding_window_pattern": 3,
                                                            "attention_bias": True, "tie_word_embeddings": False}),
    # linear, linear, full: a state in place of keys, part of the dims turns
    "qwen3.5": (Qwen3_5ForCausalLM, Qwen3_5TextConfig, LINEAR | {
        "head_dim": 32, "full_attention_interval": 3, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
        "rope_parameters": DEFAULT | {"partial_rotary_factor": 0.25}}),
    "qwen3.5-tied": (Qwen3_5ForCausalLM, Qwen3_5TextConfig, LINEAR | {
        "head_dim": 24, "tie_word_embeddings": True, "attention_bias": True, "linear_num_key_heads": 3,
        "linear_num_value_heads": 3, "linear_conv_kernel_dim": 3, "rope_parameters": DEFAULT | {
            "partial_rotary_factor": 0.5},
        "layer_types": ["full_attention", "linear_attention", "linear_attention"]}),
}
PROMPT = "The letter of 12 March names a sum of 1,204.50 in words and figures; which one counts?"
IDS = [256, *PROMPT.encode()]


class Tiny:
    def __init__(self, root: Path, name: str) -> None:
        model_class, config, options = RECIPES[name]
        self.model_class = model_class
        self.folder = root / name
        self.reference = save_tiny(self.folder, model_class, config(**SMALL | options))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("text-models")
    made: dict[str, Tiny] = {}

    def make(name: str) -> Tiny:
        if name not in made:
            made[name] = Tiny(root, name)
        return made[name]

    return make


@pytest.mark.parametrize("name", RECIPES)
def test_words_give_the_ids_logits_keys_and_answer_of_transformers(tiny: Any, tmp_path: Path, name: str) -> None:
    model = tiny(name)
    check_parity(model.folder, tmp_path, model.reference, inputs=ids_as_inputs(IDS), text="<s>" + PROMPT)


@pytest.mark.parametrize("name", ["qwen3-tied", "gemma3", "qwen3.5", "qwen3.5-tied"])
def test_a_prefill_in_chunks_gives_the_same(tiny: Any, tmp_path: Path, name: str) -> None:
    model = tiny(name)
    check_parity(model.folder, tmp_path, model.reference, ids=IDS, chunk=13)


@pytest.mark.parametrize("name", RECIPES)
def test_bf16_is_as_close_as_its_rounding_allows(tiny: Any, tmp_path: Path, name: str) -> None:
    model = tiny(name)
    theirs = load_tiny(model.folder, model.model_class, torch.bfloat16)
    check_bf16(model.folder, tmp_path, theirs, ids_as_inputs(IDS), token_ids=IDS)


# --- spellings of rotary settings (field cases F091, F092) ----------------------------------------


@pytest.mark.parametrize("name", ["llama-tied", "qwen3", "qwen3-tied"])
def test_older_exports_spell_rotary_settings_apart(tiny: Any, tmp_path: Path, name: str) -> None:
    """`rope_theta` and `rope_scaling` with `type`, in place of `rope_parameters`."""
    model = tiny(name)
    scaling = dict(RECIPES[name][2]["rope_parameters"])
    theta, kind = scaling.pop("rope_theta"), scaling.pop("rope_type")
    older = copy_tiny(model.folder, tmp_path / "older", rope_parameters=None, rope_theta=theta,
                      rope_scaling=scaling | {"type": kind} if scaling else None)
    check_parity(older, tmp_path, model.reference, ids=IDS, steps=5)


def test_older_exports_of_gemma_name_the_local_base_apart(tiny: Any, tmp_path: Path) -> None:
    model = tiny("gemma3")
    older = copy_tiny(model.folder, tmp_path / "older", rope_parameters=None, rope_theta=1e6, rope_local_base_freq=1e4,
                      rope_scaling={"rope_type": "linear", "factor": 8.0})
    check_parity(older, tmp_path, model.reference, ids=IDS, steps=5)


def test_dynamic_positions_are_plain_ones_within_the_context(tiny: Any, tmp_path: Path) -> None:
    """F092: as InternVL3 writes them; the reference stretches them behind max_position_embeddings only."""
    model = tiny("llama")
    dynamic = copy_tiny(model.folder, tmp_path / "dynamic",
                        rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4})
    ids = np.random.default_rng(6).integers(0, 256, 400).tolist()
    check_parity(dynamic, tmp_path, load_tiny(dynamic, model.model_class), ids=ids, steps=5)


def test_a_large_base_holds_at_position_3000(tiny: Any, tmp_path: Path) -> None:
    """Field case F091: a fallback to 10000 would only show far from the beginning."""
    model = tiny("qwen3")
    ids = np.random.default_rng(4).integers(0, 256, 3000).tolist()
    check_parity(model.folder, tmp_path, model.reference, ids=ids, steps=1)


# tiny model, changes of config.json, what the refusal must name
REFUSED = {
    "no base": ("qwen3", {"rope_parameters": None}, "rope_theta"),
    "longrope": ("llama", {"rope_parameters": {"rope_type": "longrope", "factor": 2.0}}, "longrope"),
    "nested": ("llama", {"rope_parameters": {"full_attention": DEFAULT}}, "full_attention"),
    "not nested": ("gemma3", {"rope_parameters": DEFAULT}, "sliding_attention"),
    "softcap": ("gemma3", {"final_logit_softcapping": 30.0}, "final_logit_softcapping = 30"),
    "partial": ("qwen3", {"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_settings_that_are_not_supported_are_refused_by_name(tiny: Any, tmp_path: Path, case: str) -> None:
    name, changes, wanted = REFUSED[case]
    folder = copy_tiny(tiny(name).folder, tmp_path / "changed", **changes)
    done = start_probe(folder, tmp_path, token_ids=IDS)
    assert done.returncode == 3
    assert wanted in done.stderr


# --- the whole product ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["qwen3", "gemma3"])
def test_the_command_line_runs_records_and_replays_a_text_model(tiny: Any, tmp_path: Path, name: str) -> None:
    model = tiny(name)
    trace = tmp_path / "run.ecokv.h5"
    run = run_ecokv("run", "--model", model.folder, "--prompt", PROMPT, "--policy", "ecokv", "--budget", 24,
                    "--max-new-tokens", 4, "--trace", trace)
    assert run["image_tokens"] == 0
    tokens = len(PROMPT) + 9  # and <s>, "\nQ: ", "\nA: " of the chat template
    assert run["prompt_tokens"] == tokens
    slides = [kind != "full_attention" for kind in model.reference.config.layer_types]
    kept = [[tokens if slide else 24] * 2 for slide in slides]  # sliding layers are not evicted (F034)
    assert run["ledger"]["kept_tokens"] == kept
    replayed = run_ecokv("replay", trace, "--budget", 24)
    assert replayed["tokens"] == tokens
    info = run_ecokv("info", model.folder)
    assert info["architecture"] == model.model_class.__name__
