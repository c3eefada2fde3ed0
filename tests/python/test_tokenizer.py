# SPDX-License-Identifier: GPL-3.0-or-later
"""Token ids and texts of our tokenizer against the `tokenizers` package, on the demo tokenizer and on byte-level BPE
tokenizers trained here (GPT-2 style, Llama-3 style, and one of every other supported part)."""
from __future__ import annotations

import json
import random
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from conftest import DEMO_MODEL
from model_probe import probe, refusal
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

pytestmark = pytest.mark.oracle

LLAMA3_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
              r"|\s*[\r\n]+|\s+(?!\S)|\s+")
WORDS = ("the capital of France is Paris and we're not there yet; they'll say it's 12345 or 3.14 "
         "naïve façade Straße Ünicode Привет мир Ελλάδα 你好 世界 東京 안녕하세요 שלום مرحبا नमस्ते ไทย "
         "def f(x): return x -> y // comment {'a': [1, 2]} <div class=\"b\"> 😀 👩‍👩‍👧 🇩🇪 é é").split()


def corpus() -> list[str]:
    """Lines to train on."""
    rng = random.Random(3)
    return [" ".join(rng.choices(WORDS, k=rng.randint(3, 12))) for _ in range(400)]


def texts() -> list[str]:
    """More than 500 strings: languages, emoji, control characters, code, spaces, random Unicode."""
    fixed = ["", " ", "  ", "a", " a", "a ", "a  b", "trailing   ", "\n", "\r\n\r\n", "\t x", "a\n\n b", "->", "(x):\n", "12345",
             "1234567890123", "don't DON'T we'LL I'm they'Re 'ſ", "x\u00a0y", "\u2003wide", "\u0085next", "\u180emvs", "\u200bzero",
             "\x00\x01\x02", "\x7f\x80\x9f", "e\u0301 \u00e9", "\u1112\u1161\u11ab", "ﬁ ﬀ ½ Ⅳ ²", "😀", "👩‍👩‍👧‍👦", "🇩🇪🇫🇷", "العربية ١٢٣",
             "\ufeffbom", "\U0010ffff", "<s>", "</s><image>", "a<image>b <image> c", " <image>", "<s><s>Hey", "<|end|>x", " <|end|> y",
             "[WORD] a[WORD] [WORD]b", "if (a && b) { return c[0]; }\n\t// ok", "https://example.org/a?b=c&d=%20", "{{ x }}", "ÀÉ"]
    rng = random.Random(7)
    ranges = [(0, 0x7f), (0x80, 0x24f), (0x370, 0x5ff), (0x900, 0x97f), (0x2000, 0x206f), (0x3040, 0x9fff), (0xac00, 0xd7a3),
              (0x1f300, 0x1faff), (0, 0xd7ff), (0xe000, 0x10ffff)]
    mixed = []
    for i in range(300):
        low, high = ranges[i % len(ranges)]
        characters = [chr(rng.randint(low, high)) for _ in range(rng.randint(1, 40))]
        # Python 3.11 and PCRE2 10.42 know Unicode 14, the reference 15: newer letters are no letters to us.
        mixed.append("".join(c for c in characters if unicodedata.category(c) != "Cn"))
    for _ in range(200):
        mixed.append(rng.choice(["", " ", "\n"]).join(rng.choices(WORDS + ["<image>", "<|end|>", "  ", "\n"], k=rng.randint(1, 15))))
    return fixed + mixed


def trained(pre_tokenizer: Any, normalizer: Any = None, ignore_merges: bool = False) -> Tokenizer:
    """A byte-level BPE tokenizer of 900 tokens with a start token and some added ones."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=900, initial_alphabet=alphabet, show_progress=False))
    tokenizer.add_special_tokens([AddedToken("<s>", special=True), AddedToken("<image>", special=True), AddedToken("</s>", special=True)])
    tokenizer.add_tokens([AddedToken("<|end|>", lstrip=True, rstrip=True, normalized=False), AddedToken("[WORD]", single_word=True),
                          AddedToken("cafe\u0301", normalized=True)])
    start = tokenizer.token_to_id("<s>")
    tokenizer.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", start)])])
    return tokenizer


def byte_level(**options: Any) -> Any:
    """The ByteLevel part, without a prefix space unless asked for."""
    return pre_tokenizers.ByteLevel(**{"add_prefix_space": False, **options})


def split(pattern: Any, behavior: str, invert: bool = False) -> Any:
    """A Split part followed by ByteLevel without its own rule."""
    return pre_tokenizers.Sequence([pre_tokenizers.Split(pattern, behavior, invert), byte_level(use_regex=False)])


TOKENIZERS = {
    "demo": lambda: Tokenizer.from_file(str(DEMO_MODEL / "tokenizer.json")),
    "gpt2": lambda: trained(byte_level()),
    "gpt2-prefix-space": lambda: trained(byte_level(add_prefix_space=True)),
    "llama3": lambda: trained(split(Regex(LLAMA3_SPLIT), "isolated"), ignore_merges=True),
    "qwen": lambda: trained(split(Regex(QWEN_SPLIT), "isolated"), normalizers.NFC()),
    "nfkc-digits": lambda: trained(
        pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level()]), normalizers.NFKC()),
    "nfd-digit-groups": lambda: trained(
        pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=False), byte_level()]),
        normalizers.Sequence([normalizers.NFD()])),
    "split-removed": lambda: trained(split(Regex(r"\s+"), "removed")),
    "split-previous": lambda: trained(split(" ", "merged_with_previous")),
    "split-next": lambda: trained(split(" ", "merged_with_next")),
    "split-contiguous": lambda: trained(split(Regex(r"[\s\d]"), "contiguous")),
    "split-inverted": lambda: trained(split(Regex(r"\w+"), "removed", invert=True)),
}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_ids_and_texts_equal_the_reference(name: str, tmp_path: Path) -> None:
    """F105 F106 F111 F112 F113 F118: ids with and without special tokens, decoding, streaming."""
    tokenizer = TOKENIZERS[name]()
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    samples = texts()
    assert len(samples) >= 500
    items = [{"text": text, "special": special} for text in samples for special in (False, True)]
    results = probe("tokenize", path, stdin=items)
    wrong = []
    for item, result in zip(items, results, strict=True):
        ids = tokenizer.encode(item["text"], add_special_tokens=item["special"]).ids
        decoded = tokenizer.decode(ids, skip_special_tokens=False)
        expected = {"ids": ids, "decoded": decoded, "skipped": tokenizer.decode(ids, skip_special_tokens=True), "streamed": decoded}
        if result != expected:
            wrong.append((item, result, expected))
    assert not wrong, f"{len(wrong)} of {len(items)} differ, first: {wrong[0]}"


def test_broken_byte_sequences_become_replacement_marks_as_in_the_reference(tmp_path: Path) -> None:
    """Cuts inside multi-byte characters: ids of single bytes, decoded by both."""
    tokenizer = TOKENIZERS["demo"]()
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    (result,) = probe("tokenize", path, stdin=[{"text": "😀 é 你"}])
    assert tokenizer.decode(result["ids"]) == "😀 é 你"
    assert len(result["ids"]) == 4 + 1 + 2 + 1 + 3


def variant(path: Path, change: Any) -> Path:
    """The GPT-2 style tokenizer with its JSON changed by `change`."""
    data = json.loads(trained(byte_level()).to_str())
    change(data)
    path.write_text(json.dumps(data))
    return path


def test_merges_as_strings_and_as_pairs_give_the_same_ids(tmp_path: Path) -> None:
    """F103."""
    def as_strings(data: dict[str, Any]) -> None:
        data["model"]["merges"] = [merge if isinstance(merge, str) else " ".join(merge) for merge in data["model"]["merges"]]

    def as_pairs(data: dict[str, Any]) -> None:
        as_strings(data)
        data["model"]["merges"] = [merge.split(" ") for merge in data["model"]["merges"]]

    items = [{"text": "The capital of France is"}]
    ids = [probe("tokenize", variant(tmp_path / f"{change.__name__}.json", change), stdin=items)[0]["ids"]
           for change in (as_strings, as_pairs)]
    assert ids[0] == ids[1]
    assert len(ids[0]) < len("The capital of France is")


@pytest.mark.parametrize(("path", "value", "said"), [
    ("model.merges", [], "Every text would fall apart"),
    ("model.byte_fallback", True, "SentencePiece"),
    ("model.type", "Unigram", "Unigram"),
    ("normalizer", {"type": "Lowercase"}, "Lowercase"),
    ("pre_tokenizer", {"type": "Whitespace"}, "Whitespace"),
    ("pre_tokenizer", None, "not a byte-level tokenizer"),
    ("post_processor", {"type": "BertProcessing"}, "BertProcessing"),
    ("decoder", {"type": "Metaspace"}, "Metaspace"),
])
def test_unknown_parts_are_refused_by_name(path: str, value: Any, said: str, tmp_path: Path) -> None:
    """F101 F103 F106 in the form tokenizer.json has them."""
    def change(data: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        for parent in parents:
            data = data[parent]
        data[last] = value

    assert said in refusal("tokenize", variant(tmp_path / "tokenizer.json", change), stdin=[])
