# SPDX-License-Identifier: GPL-3.0-or-later
"""Special tokens that only the files beside tokenizer.json name, against PreTrainedTokenizerFast of transformers."""
from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import DEMO_MODEL
from model_probe import probe, refusal
from transformers import PreTrainedTokenizerFast

pytestmark = pytest.mark.oracle

PLAIN = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
DEMO_TOKENS = {"256": {"content": "<s>", **PLAIN}, "257": {"content": "</s>", **PLAIN}, "258": {"content": "<image>", **PLAIN}}
TEXTS = ["a <pad> b", "x<new>y <new> z", " <image> ", "<s>tokens<ctx>and</s>more", "<|video|><one><two><three>", "word<word>word <word> word",
         "<NEW> <new> Ünïcödé<img>e", "no token at all", "a</s> <pad><pad>", "<unk>?<mask>"]

# tokenizer_config.json, special_tokens_map.json, added_tokens.json: what a folder may hold. None = no such file.
FOLDERS: dict[str, tuple[dict[str, Any] | None, dict[str, Any] | None, dict[str, Any] | None]] = {
    "roles": ({"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}, None, None),
    "role with flags": ({"pad_token": {"__type": "AddedToken", "content": "<pad>", "lstrip": True, "rstrip": True, "normalized": False,
                                       "single_word": False, "special": True}}, None, None),
    "decoder": ({"added_tokens_decoder": {**DEMO_TOKENS, "259": {"content": "<new>", **PLAIN}, "260": {"content": "<pad>", **PLAIN}},
                 "pad_token": "<pad>"}, None, None),
    "decoder in disorder": ({"added_tokens_decoder": {"300": {"content": "<new>", **PLAIN}, "270": {"content": "<pad>", **PLAIN}, **DEMO_TOKENS}},
                            None, None),
    "decoder with other flags": ({"added_tokens_decoder": {**DEMO_TOKENS, "258": {"content": "<image>", **PLAIN, "lstrip": True, "rstrip": True}}},
                                 None, None),
    "words, not special": ({"added_tokens_decoder": {**DEMO_TOKENS, "259": {"content": "<word>", **PLAIN, "special": False, "single_word": True},
                                                     "260": {"content": "<new>", "special": False}}}, None, None),
    "a word that a role makes special": ({"added_tokens_decoder": {**DEMO_TOKENS, "259": {"content": "<pad>", "special": False}},
                                          "pad_token": "<pad>"}, None, None),
    "a letter of the vocabulary": ({"added_tokens_decoder": {**DEMO_TOKENS, "101": {"content": "e", **PLAIN}}}, None, None),
    "names of the model": ({"image_token": "<image>", "context_image_token": "<ctx>",
                            "extra_special_tokens": {"video_token": "<|video|>", "start_image_token": "<img>"}}, None, None),
    "a list of more": ({"eos_token": "</s>", "additional_special_tokens": ["<one>", "<two>", "<s>"]}, None, None),
    "a list under its newer name": ({"extra_special_tokens": ["<one>", "<three>"], "additional_special_tokens": ["<two>"]}, None, None),
    "map": ({"eos_token": "<two>"}, {"pad_token": {"content": "<pad>", "lstrip": True, "normalized": False, "rstrip": False, "single_word": False},
                                     "eos_token": "</s>", "additional_special_tokens": ["<one>"]}, None),
    "map beside none": ({"extra_special_tokens": None}, {"extra_special_tokens": ["<one>"]}, None),
    "map beside names of the model": ({"extra_special_tokens": {"video_token": "<|video|>"}}, {"extra_special_tokens": ["<one>"]}, None),
    "map beside a decoder": ({"added_tokens_decoder": DEMO_TOKENS}, {"pad_token": "<pad>"}, {"<new>": 259}),
    "added tokens": ({"pad_token": "<pad>"}, None, {"<new>": 259, "<pad>": 260, "<word>": 261}),
    "added tokens and map": (None, {"pad_token": "<pad>", "extra_special_tokens": ["<one>"]}, {"<one>": 261, "<new>": 260, "<pad>": 259}),
    "nothing": (None, None, None),
}


def folder_of(tmp_path: Path, name: str) -> Path:
    """The demo's tokenizer.json with the files of a case beside it."""
    shutil.copyfile(DEMO_MODEL / "tokenizer.json", tmp_path / "tokenizer.json")
    for file, content in zip(("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"), FOLDERS[name]):
        if content is not None:
            (tmp_path / file).write_text(json.dumps(content))
    return tmp_path


@pytest.mark.parametrize("name", FOLDERS)
def test_ids_and_texts_equal_the_reference(name: str, tmp_path: Path) -> None:
    """F112: ids, texts, and what counts as special."""
    folder = folder_of(tmp_path, name)
    reference = PreTrainedTokenizerFast.from_pretrained(folder)
    results = probe("tokenize", folder, stdin=[{"text": text} for text in TEXTS])
    for text, result in zip(TEXTS, results, strict=True):
        ids = reference.encode(text, add_special_tokens=False)
        decode = reference.backend_tokenizer.decode
        assert result == {"ids": ids, "decoded": decode(ids, skip_special_tokens=False), "skipped": decode(ids, skip_special_tokens=True),
                          "streamed": decode(ids, skip_special_tokens=False),
                          "whole": True}, text


@pytest.mark.parametrize(("file", "content", "said"), [
    ("tokenizer_config.json", {"added_tokens_decoder": {"x": {"content": "<new>"}}}, "added_tokens_decoder.x is not a token id"),
    ("tokenizer_config.json", {"added_tokens_decoder": {"259": "<new>"}}, "must hold a JSON object"),
    ("added_tokens.json", {"<new>": "259"}, 'is not a token id'),
])
def test_what_is_no_token_is_refused(tmp_path: Path, file: str, content: dict[str, Any], said: str) -> None:
    """With the file and the key."""
    folder = folder_of(tmp_path, "nothing")
    (folder / file).write_text(json.dumps(content))
    sentence = refusal("tokenize", folder, stdin=[])
    assert said in sentence and file in sentence
