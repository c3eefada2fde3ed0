# SPDX-License-Identifier: GPL-3.0-or-later
"""Chat templates in the style of each family against transformers' apply_chat_template."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_families import CHATS, MULTIMODAL, TEXT_ONLY, TOOL_CHATS, TOOLS, Chat, as_strings
from jinja2.exceptions import TemplateError
from model_probe import probe
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast, ProcessorMixin

pytestmark = pytest.mark.oracle

NAMED_TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "image_token": "<image>"}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> PreTrainedTokenizerFast:
    """A tokenizer with special tokens that templates read, one of them the model's own."""
    vocabulary = {token: i for i, token in enumerate(["<s>", "</s>", "<image>", "a"])}
    made = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(vocabulary, unk_token="a")), **NAMED_TOKENS)
    folder = tmp_path_factory.mktemp("tokenizer")
    made.save_pretrained(folder)
    loaded: PreTrainedTokenizerFast = PreTrainedTokenizerFast.from_pretrained(folder)
    return loaded


def requests(chats: dict[str, Chat], shapes: list[Any], tools: list[Any], extras: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What to render: every conversation in every shape, with and without the generation prompt."""
    return [{"messages": shape(chat), "tools": offered, "documents": None, "add_generation_prompt": generate, **extra}
            for chat in chats.values() for shape in shapes for offered in tools for generate in (False, True) for extra in extras]


def compare(tokenizer: PreTrainedTokenizerFast, source: str, asked: list[dict[str, Any]], tmp_path: Path) -> int:
    """Renders all of `asked` with both; returns how many transformers renders without an error."""
    tokenizer.chat_template = source
    tokenizer.save_pretrained(tmp_path)
    assert (tmp_path / "chat_template.jinja").exists()
    rendered = 0
    for variables, ours in zip(asked, probe("render", tmp_path, stdin=asked), strict=True):
        options = {k: v for k, v in variables.items() if k not in ("messages", "tools")}
        try:
            expected = tokenizer.apply_chat_template(variables["messages"], tools=variables["tools"], tokenize=False, **options)
        except (TemplateError, TypeError, KeyError) as error:  # the template refuses or breaks
            assert "error" in ours, f"transformers: {error!r}, ours: {ours} for {variables}"
            continue
        assert ours == {"text": expected}, variables
        rendered += 1
    return rendered


@pytest.mark.parametrize("family", MULTIMODAL)
def test_multimodal_families_render_as_transformers_does(family: str, tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    """F114, F116: pictures, system words, several turns; contents as parts and as strings."""
    extras: list[dict[str, Any]] = [{}, {"add_vision_id": True, "enable_thinking": False}]
    asked = requests(CHATS, [list, as_strings], [None], extras) + requests(TOOL_CHATS, [list], [TOOLS, None], [{}])
    assert compare(tokenizer, MULTIMODAL[family], asked, tmp_path) >= len(asked) // 3


@pytest.mark.parametrize("family", TEXT_ONLY)
def test_text_families_render_as_transformers_does(family: str, tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    """F114: tools, dates and roles that do not take turns."""
    extras: list[dict[str, Any]] = [{}, {"date_string": "1 Jan 2026", "builtin_tools": ["weather", "code_interpreter"]}]
    asked = requests(CHATS, [as_strings], [None], extras) + requests(TOOL_CHATS, [as_strings], [TOOLS, None], extras)
    assert compare(tokenizer, TEXT_ONLY[family], asked, tmp_path) >= len(asked) // 3


def test_special_tokens_are_those_transformers_passes(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    """Also the model's own, in whichever of the three places an export keeps them."""
    source = "{{ bos_token }}|{{ eos_token }}|{{ pad_token }}|{{ image_token }}|{{ boi_token }}|{{ add_bos_token }}"
    config = json.loads((Path(tokenizer.name_or_path) / "tokenizer_config.json").read_text())
    variants: list[dict[str, dict[str, Any]]] = [
        {"tokenizer_config.json": {**config, "pad_token": {"content": "<p>", "__type": "AddedToken"}, "add_bos_token": True}},
        {"tokenizer_config.json": {**config, "extra_special_tokens": {"boi_token": "<boi>", "image_token": "<im>"}}},
        {"tokenizer_config.json": {k: v for k, v in config.items() if k != "added_tokens_decoder"},
         "special_tokens_map.json": {"eos_token": "<e>", "pad_token": {"content": "<p>"}}},
    ]
    for i, files in enumerate(variants):
        folder = tmp_path / str(i)
        tokenizer.save_pretrained(folder)
        (folder / "chat_template.jinja").write_text(source)
        for name, content in files.items():
            (folder / name).write_text(json.dumps(content))
        loaded = PreTrainedTokenizerFast.from_pretrained(folder)
        expected = loaded.apply_chat_template([{"role": "user", "content": ""}], tokenize=False)
        assert probe("render", folder, stdin=[{"messages": []}]) == [{"text": expected}]
        assert expected != "|||||"


def test_the_place_of_the_template_is_the_one_transformers_takes(tmp_path: Path) -> None:
    """F117: every set of places, each with another text."""
    places = {"processor_config.json": json.dumps({"chat_template": "P", "image_seq_length": 4}),
              "chat_template.json": json.dumps({"chat_template": "B"}), "chat_template.jinja": "A"}
    for chosen in range(1, 8):
        folder = tmp_path / str(chosen)
        folder.mkdir()
        written = [name for i, name in enumerate(places) if chosen >> i & 1]
        for name in written:
            (folder / name).write_text(places[name])
        (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": "C"}))
        expected = ProcessorMixin.get_processor_dict(folder)[0]["chat_template"]
        result = probe("chat", folder, stdin=[{"role": "user", "text": "x"}])
        assert result["text"] == expected
        assert sum("holds another chat template" in note for note in result["notes"]) == len(written)
