# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders with one wrong value each: the doctor names the key and says what to do about it."""
from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import DEMO_DOCUMENTS, DEMO_MODEL, edit_json, run_program
from hub_models import MODELS, write_files

PICTURE = DEMO_DOCUMENTS / "notice-board.png"
TOKENIZER_HINT = "download it again"


def problems(*arguments: object) -> list[tuple[str, str]]:
    """Text and advice of everything that stands in the way of a run; each has both."""
    done = run_program("ecokv", "doctor", *arguments, "--json")
    assert done.returncode == 3, done.stdout + done.stderr
    found = [(f["text"], f["advice"]) for f in json.loads(done.stdout)["findings"] if f["severity"] == "problem"]
    assert found and all(text and advice for text, advice in found), found
    return found


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The demo model, to be damaged."""
    return Path(shutil.copytree(DEMO_MODEL, tmp_path / "model"))


@pytest.mark.parametrize(("key", "value", "said", "hint"), [
    ("text_config.num_key_value_heads", 3, "does not divide num_attention_heads = 8", "Set text_config.num_key_value_heads as in the config.json"),
    ("text_config.hidden_size", 0, "at least 1", "Set text_config.hidden_size as in the config.json"),
    ("text_config.head_dim", 31, "is odd", "Set text_config.head_dim"),
    ("text_config.rms_norm_eps", 7, "not a small positive number", "Usual are 1e-5 and 1e-6"),
    ("text_config.hidden_act", "tanh", "is not supported", "Supported are silu"),
    ("text_config.num_hidden_layers", 10**9, "more than any model has", "Set text_config.num_hidden_layers"),
    ("text_config.layer_types", ["full_attention"], "6 layers, but names 1", "one entry for each of num_hidden_layers"),
    ("text_config.layer_types", ["sliding_attention"] * 6, "a llama decoder does not have", "A llama decoder has full attention"),
    ("text_config.rope_parameters", {"rope_theta": -1.0}, "must be positive", "Set text_config.rope_parameters.rope_theta"),
    ("text_config.rope_parameters", {"rope_theta": 1e4, "partial_rotary_factor": 0.5}, "turns whole heads", "leave the key out"),
    ("text_config.rope_parameters", {"rope_theta": 1e4, "rope_type": "longrope"}, "is not supported", "Supported rope types are"),
    ("text_config.rope_parameters", {"rope_theta": 1e4, "rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 1},
     "must be larger than low_freq_factor", "Llama 3 models have 4 and 1"),
    ("text_config.model_type", "phi", "is not supported yet", "Supported here"),
    ("text_config", [], "must be an object", "belongs to this model"),
    ("vision_config.num_channels", 4, "3 channels", "Set vision_config.num_channels"),
    ("vision_config.hidden_size", 97, "not a multiple of num_attention_heads = 3", "Set vision_config.hidden_size"),
    ("vision_config.patch_size", 500, "larger than image_size = 192", "Set vision_config.patch_size"),
    ("vision_config.model_type", "dinov2", "is not supported yet", "siglip_vision_model"),
    ("vision_feature_layer", 9, "does not exist in a tower of 2 layers", "from -1 backwards"),
    ("vision_feature_layer", ["last"], "must be a layer or a list", "For example -2"),
    ("vision_feature_layer", [], "names no layer", "Usual is -2"),
    ("image_token_index", -5, "is not a token id", "Set image_token_index as in the config.json"),
    ("image_token_index", 259, "has no such token", "download both from the same place"),
    ("eos_token_id", "</s>", "token id or a list", "A token id is a whole number"),
    ("quantization_config", {"quant_method": "awq"}, 'quantised ("awq")', "bfloat16"),
    ("architectures", ["BertForMaskedLM"], "describes a BertForMaskedLM", "Supported are"),
])
def test_a_wrong_value_of_the_configuration_comes_with_a_hint(model: Path, key: str, value: Any, said: str, hint: str) -> None:
    edit_json(model / "config.json", **{key: value})
    found = problems(model)
    assert any(said in text and hint in advice for text, advice in found), found


@pytest.mark.parametrize(("key", "value", "said", "hint"), [
    ("image_processor.image_mean", [0.5], "must be three numbers", "One each for red, green and blue"),
    ("image_processor.image_std", [1, 0, 1], "must be positive", "again"),
    ("image_processor.resample", 9, "is not supported yet", "Supported are 0 (nearest)"),
    ("image_processor.size", {"shortest_edge": 0}, "from 1 to 16384", "Set image_processor.size.shortest_edge as in the processor_config.json"),
    ("image_processor.image_processor_type", None, "is missing", "Set image_processor.image_processor_type"),
    ("image_processor.image_processor_type", "ViTImageProcessor", "is not supported here", "CLIPImageProcessor"),
    ("image_processor", "CLIP", "must be an object", "belongs to this model"),
])
def test_a_wrong_value_of_the_processor_comes_with_a_hint(model: Path, key: str, value: Any, said: str, hint: str) -> None:
    edit_json(model / "processor_config.json", **{key: value})
    found = problems(model)
    assert any(said in text and hint in advice for text, advice in found), found


@pytest.mark.parametrize(("key", "value", "said", "hint"), [
    ("added_tokens", [{"content": "<s>"}], "is not a token id", TOKENIZER_HINT),
    ("model.vocab", {"a": -1}, "which is not one", TOKENIZER_HINT),
    ("model.vocab", ["a"], "must be an object of tokens and ids", "belongs to this model"),
    ("model.merges", ["a zz"], "can be read as a merge in 0 ways", TOKENIZER_HINT),
    ("model.merges", [["a", "zz"]], "names a token that is not in", TOKENIZER_HINT),
    ("model.merges", [7], "neither a string nor a pair", TOKENIZER_HINT),
    ("model.merges", {}, "must be a list", TOKENIZER_HINT),
    ("model.end_of_word_suffix", "</w>", "is not supported", "belongs to the model"),
    ("model.dropout", 0.1, "for training only", "Set it to null"),
    ("model.type", "WordPiece", "is not supported", "Supported are BPE and Unigram"),
    ("post_processor.single", {}, "must be a list", TOKENIZER_HINT),
    ("post_processor.single", [], "does not hold the text", "download tokenizer.json again"),
    ("post_processor.single", [{"Sequence": {"id": "A"}}, {"Sequence": {"id": "A"}}], "the text twice", "once"),
    ("post_processor.type", "Mystery", 'post-processor "Mystery"', "Supported are TemplateProcessing"),
    ("pre_tokenizer", {"type": "Split", "pattern": {}, "behavior": "Isolated"}, "neither Regex nor String", 'Write it as {"String"'),
    ("pre_tokenizer", {"type": "Split", "pattern": {"String": " "}, "behavior": "Sideways"}, "is unknown", "Known are Removed"),
    ("pre_tokenizer", {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated"}, "cannot be compiled", "complete"),
    ("pre_tokenizer", {"type": "Metaspace", "replacement": "ab"}, "is not one character", "Usual is"),
    ("decoder", {"type": "Strip", "content": "ab", "start": 1, "stop": 0}, "one character and a count", TOKENIZER_HINT),
    ("normalizer", {"type": "Rot13"}, 'normaliser "Rot13"', "Supported are NFC"),
])
def test_a_wrong_value_of_the_tokenizer_comes_with_a_hint(model: Path, key: str, value: Any, said: str, hint: str) -> None:
    edit_json(model / "tokenizer.json", **{key: value})
    found = problems(model)
    assert any(said in text and hint in advice for text, advice in found), found


QWEN25, QWEN3, INTERNVL = "Qwen/Qwen2.5-VL-3B-Instruct", "Qwen/Qwen3-VL-2B-Instruct", "OpenGVLab/InternVL3-1B-hf"
GEMMA, NEXT, SMOL = "google/gemma-3-4b-it", "llava-hf/llava-v1.6-mistral-7b-hf", "HuggingFaceTB/SmolVLM-256M-Instruct"
CONFIG, PREPROCESSOR = "config.json", "preprocessor_config.json"


@pytest.mark.parametrize(("name", "file", "key", "value", "said", "hint"), [
    (QWEN25, CONFIG, "vision_config.window_size", 1, "smaller than the 28 pixels", "Set vision_config.window_size"),
    (QWEN25, CONFIG, "vision_config.in_channels", 4, "3 channels", "Set vision_config.in_channels"),
    (QWEN25, CONFIG, "vision_config.num_heads", 7, "does not divide into 7 heads", "Rotary positions by row and column"),
    (QWEN25, CONFIG, "vision_config.fullatt_block_indexes", ["a"], "must list layers", "Set vision_config.fullatt_block_indexes"),
    (QWEN25, CONFIG, "rope_scaling", {"type": "mrope", "mrope_section": [16, 24]}, "must be three numbers", "as [16, 24, 24]"),
    (QWEN25, CONFIG, "rope_scaling", {"type": "mrope", "mrope_section": [16, 24, 8]}, "does not add up to the 64 pairs", "half of head_dim"),
    (QWEN25, CONFIG, "rope_scaling", {"type": "mrope"}, "mrope_section is missing", "needs it to place pictures"),
    (INTERNVL, CONFIG, "text_config.rope_theta", None, "has no usual one", "Add rope_theta"),
    (QWEN25, CONFIG, "video_token_id", -2, "is not a token id", "Set video_token_id"),
    (QWEN25, PREPROCESSOR, "min_pixels", -1, "must be a number of pixels", "It limits the area of a resized picture"),
    (QWEN25, PREPROCESSOR, "patch_size", 999, "is more than 256", "Set patch_size as in the preprocessor_config.json"),
    (QWEN25, PREPROCESSOR, "patch_size", 16, "made for 14", "download both from the same place"),
    (QWEN3, CONFIG, "vision_config.num_position_embeddings", 2305, "is not a square number", "Set vision_config.num_position_embeddings"),
    (INTERNVL, CONFIG, "vision_config.image_size", [448, 224], "must be a square", "Towers for other shapes are not supported"),
    (INTERNVL, CONFIG, "vision_config.norm_type", "batch", "is unknown", "Known are layer_norm and rms_norm"),
    (INTERNVL, CONFIG, "downsample_ratio", 0.3, "evenly", "Set downsample_ratio"),
    (INTERNVL, CONFIG, "vision_feature_select_strategy", "full", "leaves 1025 features", 'Set it to "default"'),
    (INTERNVL, PREPROCESSOR, "max_patches", 0, "must be a number of tiles", "InternVL has 1 to 12"),
    (INTERNVL, PREPROCESSOR, "size", {"shortest_edge": 448}, "must give height and width", '"height": 448'),
    (INTERNVL, PREPROCESSOR, "size", {"height": 336, "width": 336}, "takes 448 x 448", "download both from the same place"),
    (GEMMA, CONFIG, "text_config.query_pre_attn_scalar", -1, "must be positive", "256 in most Gemma 3 models"),
    (GEMMA, CONFIG, "text_config.final_logit_softcapping", 30.0, "is not supported", "Gemma 2 is not supported"),
    (GEMMA, CONFIG, "mm_tokens_per_image", 250, "64 x 64 patches", "Check mm_tokens_per_image"),
    (GEMMA, PREPROCESSOR, "do_pan_and_scan", True, "crops of wide and tall pictures", "Set do_pan_and_scan to false"),
    (NEXT, CONFIG, "image_grid_pinpoints", [], "at least one entry", "For example [[336, 672], [672, 336]]"),
    (NEXT, CONFIG, "image_grid_pinpoints", [[336]], "must be a list of [height, width]", "Each pair gives the pixels of a canvas"),
    (NEXT, CONFIG, "image_grid_pinpoints", [[300, 300]], "no whole number of tiles", "download both from the same place"),
    (SMOL, PREPROCESSOR, "max_image_size", {"longest_edge": 500}, "tiles of 500 pixels", "Correct max_image_size"),
    (SMOL, "tokenizer_config.json", "added_tokens_decoder", {"x": {}}, "added_tokens_decoder.x is not a token id", "Set added_tokens_decoder"),
])
def test_a_wrong_value_of_any_family_comes_with_a_hint(tmp_path: Path, name: str, file: str, key: str, value: Any, said: str, hint: str) -> None:
    """Published folders (no weights, which the doctor says as well) with one key changed."""
    write_files(tmp_path, MODELS[name])
    edit_json(tmp_path / file, **{key: value})
    found = problems(tmp_path)
    assert any(said in text and hint in advice for text, advice in found), found


@pytest.mark.parametrize(("content", "said", "hint"), [
    (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer", "git lfs pull"),
    (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "of the kind SVG or web page", "Supported are JPEG, PNG and WebP"),
    (b"GIF89a", "of the kind GIF", "Supported are JPEG, PNG and WebP"),
    (b"", "is empty", "Supported are JPEG, PNG and WebP"),
])
def test_a_file_that_is_no_picture_comes_with_a_hint(tmp_path: Path, content: bytes, said: str, hint: str) -> None:
    file = tmp_path / "picture.png"
    file.write_bytes(content)
    found = problems(DEMO_MODEL, "--image", file, "--prompt", "?")
    assert any(said in text and hint in advice for text, advice in found), found


def test_a_folder_without_a_template_names_the_option(model: Path) -> None:
    """A plain prompt is a switch of the command, so the advice names it."""
    (model / "chat_template.jinja").unlink()
    ((text, advice),) = problems(model, "--image", PICTURE, "--prompt", "ZXY?")
    assert "has no chat template" in text and "--plain-prompt" in advice and "with <image> where a picture belongs" in advice
    done = run_program("ecokv", "doctor", model, "--image", PICTURE, "--prompt", "<s><image>ZXY?", "--plain-prompt")
    assert done.returncode == 0, done.stdout


def test_pictures_for_a_language_model_are_refused_as_such(tmp_path: Path) -> None:
    """Not with what its template makes of a message that holds a picture."""
    write_files(tmp_path, MODELS["mistralai/Mistral-7B-Instruct-v0.3"])
    found = problems(tmp_path, "--image", PICTURE, "--prompt", "What is this?")
    assert any("reads text only, but 1 picture(s) were given" in text and "open a multimodal model" in advice for text, advice in found), found


@pytest.mark.parametrize(("budget", "said"), [
    ("-1", "The budget is -1 tokens."), ("abc", '"abc", which is not a whole number'), ("1e3", '"1e3", which is not a whole number'),
    ("99999999999999999999", '"99999999999999999999", which is beyond 64 bits'),
])
def test_a_budget_is_read_as_a_run_reads_it(budget: str, said: str) -> None:
    """Same words, same exit code."""
    doctor = run_program("ecokv", "doctor", DEMO_MODEL, "--prompt", "x", "--budget", budget)
    run = run_program("ecokv", "run", "--model", DEMO_MODEL, "--prompt", "x", "--budget", budget)
    assert doctor.returncode == run.returncode == 2 and said in doctor.stderr
    assert doctor.stderr.splitlines()[0] == run.stderr.splitlines()[0] and doctor.stdout == ""


def test_a_budget_that_covers_the_prompt_evicts_nothing() -> None:
    """No report of a saving there is not."""
    done = run_program("ecokv", "doctor", DEMO_MODEL, "--prompt", "x", "--budget", 2**62)
    assert done.returncode == 0 and "nothing is evicted" in done.stdout
