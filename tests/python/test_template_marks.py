# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tokens of a prompt the chat template wrote, against the character offsets that `tokenizers` gives, for tokenizers that
put spaces in front of words, read bytes, or rewrite what the user typed."""
from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest
from model_probe import probe
from tokenizer_zoo import TOKENIZERS
from tokenizers import Tokenizer

pytestmark = pytest.mark.oracle

BEFORE, AFTER = "<s>the capital: USER: ", " ASSISTANT: it is"
TEMPLATE = "{% for message in messages %}" + BEFORE + "{{ message['content'] }}" + AFTER + "{% endfor %}"
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1,
          "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 2000, "max_position_embeddings": 512, "rms_norm_eps": 1e-5}


@functools.cache
def tokenizer_of(name: str) -> Tokenizer:
    """Trained once."""
    return TOKENIZERS[name]()


@pytest.mark.parametrize("words", ["what is the capital of France", "  two  spaces ", "naïve 你好 👩‍👩‍👧", "e\u0301 decomposed e\u0301", "a</s>b", "x"])
@pytest.mark.parametrize("name", ["gpt2", "qwen", "llama2", "metaspace-first", "gemma"])
def test_template_tokens_are_those_outside_the_users_words(name: str, words: str, tmp_path: Path) -> None:
    """F033 F111: by offsets into the text before normalisation."""
    tokenizer = tokenizer_of(name)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE)
    result = probe("prompt", tmp_path, stdin={"text": words})
    text = BEFORE + words + AFTER
    assert result["text"] == text
    encoding = tokenizer.encode(text, add_special_tokens=False)
    assert result["ids"] == encoding.ids
    first, last = len(BEFORE), len(BEFORE) + len(words)
    special = {tokenizer.token_to_id(token) for token in ("<s>", "</s>", "<image>")}
    expected = [int(end <= first or begin >= last or token in special)
                for token, (begin, end) in zip(encoding.ids, encoding.offsets, strict=True)]
    assert result["from_template"] == expected, list(zip(encoding.tokens, result["from_template"], expected, strict=True))
