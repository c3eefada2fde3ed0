# SPDX-License-Identifier: GPL-3.0-or-later
"""The decoder alone against those of transformers, with features of pictures that a tower might have made."""
from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import program
from tiny_models import TOLERANCE, save_tiny
from transformers import (
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    PreTrainedModel,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
    Qwen3_5Config,
    Qwen3_5ForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)

pytestmark = pytest.mark.oracle

TEXT = {"vocab_size": 260, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096}
TOWER = {"depth": 1, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2}
IMAGE = 258
GEMMA = {"head_dim": 24, "query_pre_attn_scalar": 40, "layer_types": ["sliding_attention", "full_attention"] * 2}

MODELS: dict[str, Callable[[], tuple[type[PreTrainedModel], Any]]] = {
    "qwen2-vl": lambda: (Qwen2VLForConditionalGeneration, Qwen2VLConfig(
        text_config=TEXT | {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]}},
        vision_config={"depth": 1, "embed_dim": 32, "hidden_size": 64, "num_heads": 2}, image_token_id=IMAGE)),
    "qwen2.5-vl": lambda: (Qwen2_5_VLForConditionalGeneration, Qwen2_5_VLConfig(
        text_config=TEXT | {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 2,
                            "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 2, 2]}},
        vision_config=TOWER | {"out_hidden_size": 64}, image_token_id=IMAGE)),
    "qwen3-vl": lambda: (Qwen3VLForConditionalGeneration, Qwen3VLConfig(
        text_config=TEXT | {"head_dim": 20, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4,
                                                                "mrope_section": [4, 3, 3]}},
        vision_config=TOWER | {"out_hidden_size": 64, "deepstack_visual_indexes": [0]}, image_token_id=IMAGE)),
    # Half of a head's dims turn, in the full layers; the linear ones know no positions.
    "qwen3.5": lambda: (Qwen3_5ForConditionalGeneration, Qwen3_5Config(
        text_config=TEXT | {"head_dim": 32, "full_attention_interval": 2, "linear_num_key_heads": 2,
                            "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 12,
                            "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [3, 3, 2],
                                                "partial_rotary_factor": 0.5}},
        vision_config=TOWER | {"out_hidden_size": 64}, image_token_id=IMAGE)),
    # Pictures of 6 tokens are longer than the window of 4.
    "gemma3": lambda: (Gemma3ForConditionalGeneration, Gemma3Config(
        text_config=TEXT | GEMMA | {"sliding_window": 4, "rope_parameters": {
            "full_attention": {"rope_type": "linear", "rope_theta": 1e5, "factor": 8.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}},
        vision_config={"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
                       "image_size": 28, "patch_size": 14}, mm_tokens_per_image=4, image_token_index=IMAGE)),
}


@dataclass
class Prompt:
    ids: list[int]
    image_index: list[int]
    positions: list[list[int]]  # [token] time, row, column
    features: torch.Tensor  # [imageToken, hidden]
    deepstack: list[torch.Tensor]


def prompt_of(parts: list[int | tuple[int, int]], deep_layers: int = 0) -> Prompt:
    """Numbers of words, and grids (rows, columns) of pictures, as Qwen2-VL places them (field case F067)."""
    generator = torch.Generator().manual_seed(7)
    prompt, following, picture = Prompt([], [], [], torch.empty(0), []), 0, 0
    for part in parts:
        if isinstance(part, int):
            prompt.ids += torch.randint(0, 256, (part,), generator=generator).tolist()
            prompt.image_index += [-1] * part
            prompt.positions += [[following + i] * 3 for i in range(part)]
            following += part
            continue
        rows, columns = part
        prompt.ids += [IMAGE] * (rows * columns)
        prompt.image_index += [picture] * (rows * columns)
        prompt.positions += [[following, following + r, following + c] for r in range(rows) for c in range(columns)]
        following += max(rows, columns)
        picture += 1
    images = sum(index >= 0 for index in prompt.image_index)
    prompt.features = torch.randn(images, 64, generator=generator)
    prompt.deepstack = [torch.randn(images, 64, generator=generator) for _ in range(deep_layers)]
    return prompt


@torch.no_grad()
def reference_logits(model: PreTrainedModel, prompt: Prompt, forced: list[int], family: str) -> np.ndarray:
    """One pass over prompt and forced tokens; every row from the prompt's last on."""
    ids = torch.tensor([prompt.ids + forced])
    embeds = model.get_input_embeddings()(ids)
    images = torch.tensor([[index >= 0 for index in prompt.image_index] + [False] * len(forced)])
    embeds[images] = prompt.features
    if family == "gemma3":
        logits = model(inputs_embeds=embeds, token_type_ids=images.long()).logits
        return logits[0, len(prompt.ids) - 1:].numpy()
    following = int(np.max(prompt.positions)) + 1
    positions = prompt.positions + [[following + i] * 3 for i in range(len(forced))]
    options: dict[str, Any] = {"position_ids": torch.tensor(positions).T.unsqueeze(1)}
    if prompt.deepstack:
        options |= {"visual_pos_masks": images, "deepstack_visual_embeds": prompt.deepstack}
    hidden = model.model.language_model(inputs_embeds=embeds, **options).last_hidden_state
    return model.lm_head(hidden)[0, len(prompt.ids) - 1:].numpy()


def run_decoder(folder: Path, out: Path, prompt: Prompt, forced: list[int], **request: Any) -> tuple[np.ndarray, Any]:
    def saved(name: str, rows: torch.Tensor) -> str:
        rows.numpy().astype("<f4").tofile(out / name)
        return str(out / name)

    out.mkdir(exist_ok=True)
    request |= {"model": str(folder), "token_ids": prompt.ids, "image_index": prompt.image_index, "forced": forced,
                "out": str(out / "logits.f32"), "head": "lm_head",
                "features": saved("features.f32", prompt.features),
                "deepstack": [saved(f"deep{i}.f32", rows) for i, rows in enumerate(prompt.deepstack)]}
    done = subprocess.run([str(program("ecokv_decoder_probe"))], input=json.dumps(request), capture_output=True,
                          text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return np.fromfile(out / "logits.f32", "<f4").reshape(1 + len(forced), -1), json.loads(done.stdout)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, PreTrainedModel]]:
    root = tmp_path_factory.mktemp("decoders")
    made: dict[str, tuple[Path, PreTrainedModel]] = {}

    def make(name: str) -> tuple[Path, PreTrainedModel]:
        if name not in made:
            made[name] = (root / name, save_tiny(root / name, *MODELS[name]()))
        return made[name]

    return make


def compare(models: Any, out: Path, name: str, prompt: Prompt, **request: Any) -> Any:
    folder, model = models(name)
    forced = [5, 250, 33]
    expected = reference_logits(model, prompt, forced, name)
    if name != "gemma3":
        request["rope_positions"] = prompt.positions
    request["prefix"] = "model." if name.startswith("qwen2") else "model.language_model."
    ours, answer = run_decoder(folder, out, prompt, forced, **request)
    assert float(np.abs(expected).max()) > 0.5
    np.testing.assert_allclose(ours, expected, atol=TOLERANCE, rtol=0)
    return answer


QWEN = ["qwen2-vl", "qwen2.5-vl", "qwen3-vl", "qwen3.5"]


@pytest.mark.parametrize("name", QWEN)
def test_pictures_turn_by_row_and_column_and_text_goes_on_behind_them(models: Any, tmp_path: Path, name: str) -> None:
    """Field case F067: 3 text, grid 2 x 3, 2 text; the next text has 8 where it is token 11: delta -3."""
    answer = compare(models, tmp_path, name, prompt_of([3, (2, 3), 2]))
    assert answer == {"shift": -3, "next": [8, 8, 8]}


@pytest.mark.parametrize("name", QWEN)
@pytest.mark.parametrize("chunk", [0, 5])
def test_several_pictures_and_words_between(models: Any, tmp_path: Path, name: str, chunk: int) -> None:
    compare(models, tmp_path, name, prompt_of([4, (5, 2), 3, (1, 7), 12]), chunk=chunk)


@pytest.mark.parametrize("chunk", [0, 4])
@pytest.mark.parametrize("layers", [1, 3, 4])
def test_deepstack_is_added_after_the_first_layers(models: Any, tmp_path: Path, chunk: int, layers: int) -> None:
    """With 4 it also reaches the last layer, of which the last token alone is computed."""
    compare(models, tmp_path, "qwen3-vl", prompt_of([3, (3, 3), 4, (2, 2)], layers), chunk=chunk)
    compare(models, tmp_path, "qwen3-vl", prompt_of([3, (3, 3), 4], layers), chunk=chunk)


@pytest.mark.parametrize("chunk", [0, 1, 5, 8])
def test_tokens_of_a_gemma_picture_see_each_other(models: Any, tmp_path: Path, chunk: int) -> None:
    """Chunks never cut a picture, and a picture is longer than what sliding layers see."""
    prompt = prompt_of([3, (2, 3), 2, (2, 3), 9])
    compare(models, tmp_path, "gemma3", prompt, chunk=chunk)
    model = models("gemma3")[1]
    seen = reference_logits(model, prompt, [], "gemma3")
    with torch.no_grad():
        embeds = model.get_input_embeddings()(torch.tensor([prompt.ids]))
        embeds[torch.tensor([prompt.image_index]) >= 0] = prompt.features
        unseen = model(inputs_embeds=embeds).logits[0, -1:].numpy()
    assert np.abs(seen - unseen).max() > 0.05, "the mask must matter"
