# SPDX-License-Identifier: GPL-3.0-or-later
"""Token ids and texts of our tokenizer against the `tokenizers` package, over the demo's and SmolLM2's tokenizer and over
tokenizers trained here in the style of every supported family and with every supported part (tokenizer_zoo.py)."""
from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from model_probe import probe, refusal
from tokenizer_texts import texts
from tokenizer_zoo import TOKENIZERS, byte_level, llama2, trained
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

pytestmark = pytest.mark.oracle

SAMPLES = texts()
WITH_SPECIALS = 300


def saved(tokenizer: Tokenizer, folder: Path) -> Path:
    """Its tokenizer.json."""
    path = folder / "tokenizer.json"
    tokenizer.save(str(path))
    return path


def expected(tokenizer: Tokenizer, all_ids: list[list[int]]) -> list[dict[str, Any]]:
    """What the reference makes of ids; `whole`: no piece of a stream has half a character."""
    decoded = tokenizer.decode_batch(all_ids, skip_special_tokens=False)
    skipped = tokenizer.decode_batch(all_ids, skip_special_tokens=True)
    return [{"ids": ids, "decoded": text, "skipped": short, "streamed": text, "whole": True}
            for ids, text, short in zip(all_ids, decoded, skipped, strict=True)]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_ids_and_texts_equal_the_reference(name: str, tmp_path: Path) -> None:
    """F105 F106 F108 F111 F112 F113 F118: ids with and without special tokens, decoding, streaming."""
    path = saved(TOKENIZERS[name](), tmp_path)
    tokenizer = Tokenizer.from_file(str(path))
    assert len(SAMPLES) >= 2000
    items = [{"text": text} for text in SAMPLES] + [{"text": text, "special": True} for text in SAMPLES[:WITH_SPECIALS]]
    results = probe("tokenize", path, stdin=items)
    encoded = (tokenizer.encode_batch(SAMPLES, add_special_tokens=False)
               + tokenizer.encode_batch(SAMPLES[:WITH_SPECIALS], add_special_tokens=True))
    wanted = expected(tokenizer, [encoding.ids for encoding in encoded])
    for item, result, want in zip(items, results, wanted, strict=True):
        if "<0x" in item["text"] and "\ufffd" in want["decoded"]:  # byte tokens written out, which a stream has shown in part
            want["streamed"] = result["streamed"]
    wrong = [found for found in zip(items, results, wanted, strict=True) if found[1] != found[2]]
    assert not wrong, f"{len(wrong)} of {len(items)} differ, first: {wrong[0]}"


@pytest.mark.parametrize("name", ["demo", "llama2", "metaspace-always", "gemma", "unigram-bytes", "cleaning"])
def test_any_row_of_ids_is_decoded_as_by_the_reference(name: str, tmp_path: Path) -> None:
    """Rows that no text gives: broken bytes, special tokens between bytes, spaces in front, one token alone."""
    path = saved(TOKENIZERS[name](), tmp_path)
    tokenizer = Tokenizer.from_file(str(path))
    rng = random.Random(5)
    some = [token for token in range(tokenizer.get_vocab_size()) if tokenizer.id_to_token(token) is not None]
    rows = [[token] for token in some[:300]] + [rng.choices(some, k=rng.randint(1, 12)) for _ in range(700)]
    results = probe("tokenize", path, stdin=[{"ids": row} for row in rows])
    for row, result, wanted in zip(rows, results, expected(tokenizer, rows), strict=True):
        assert {**result, "streamed": ""} == {**wanted, "streamed": ""}
        # a row of bytes that ends broken: the reference takes back what was complete, which a stream cannot
        assert result["streamed"] == wanted["decoded"] or "\ufffd" in wanted["decoded"]


def test_broken_byte_sequences_become_replacement_marks_as_in_the_reference(tmp_path: Path) -> None:
    """Cuts inside multi-byte characters: ids of single bytes, decoded by both."""
    tokenizer = TOKENIZERS["demo"]()
    (result,) = probe("tokenize", saved(tokenizer, tmp_path), stdin=[{"text": "😀 é 你"}])
    assert tokenizer.decode(result["ids"]) == "😀 é 你"
    assert len(result["ids"]) == 4 + 1 + 2 + 1 + 3


def variant(tokenizer: Tokenizer, path: Path, change: Any) -> Path:
    """The tokenizer with its JSON changed by `change`."""
    data = json.loads(tokenizer.to_str())
    change(data)
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize("make", [lambda: trained(byte_level()), llama2])
def test_merges_as_strings_and_as_pairs_give_the_same_ids(make: Any, tmp_path: Path) -> None:
    """F103."""
    def as_strings(data: dict[str, Any]) -> None:
        data["model"]["merges"] = [merge if isinstance(merge, str) else " ".join(merge) for merge in data["model"]["merges"]]

    def as_pairs(data: dict[str, Any]) -> None:
        as_strings(data)
        data["model"]["merges"] = [merge.split(" ") for merge in data["model"]["merges"]]

    items = [{"text": "The capital of France is"}]
    ids = [probe("tokenize", variant(make(), tmp_path / f"{change.__name__}.json", change), stdin=items)[0]["ids"]
           for change in (as_strings, as_pairs)]
    assert ids[0] == ids[1]
    assert len(ids[0]) < len("The capital of France is")


def test_a_file_that_is_indented_or_ordered_otherwise_reads_the_same(tmp_path: Path) -> None:
    """The large lists are cut out of the text before it is parsed: escapes, spaces and the order of keys must not matter."""
    tokenizer = llama2()
    path = tmp_path / "indented.json"
    data = json.loads(tokenizer.to_str())
    data["model"] = dict(reversed(data["model"].items()))
    path.write_text(json.dumps(dict(reversed(data.items())), indent=3, ensure_ascii=True))
    results = probe("tokenize", path, stdin=[{"text": text} for text in SAMPLES[:400]])
    assert [result["ids"] for result in results] == [tokenizer.encode(text, add_special_tokens=False).ids for text in SAMPLES[:400]]


def test_older_metaspace_files_name_the_prefix_space_otherwise(tmp_path: Path) -> None:
    """F108: `add_prefix_space` before there was `prepend_scheme`."""
    def old(prefix: bool) -> Any:
        part = {"type": "Metaspace", "replacement": "▁", "str_rep": "▁", "add_prefix_space": prefix}
        if not prefix:
            part["prepend_scheme"] = "never"

        def change(data: dict[str, Any]) -> None:
            data["pre_tokenizer"] = part
            data["decoder"] = part
        return change

    for prefix in (True, False):
        path = variant(TOKENIZERS["metaspace-always"](), tmp_path / f"{prefix}.json", old(prefix))
        tokenizer = Tokenizer.from_file(str(path))
        (result,) = probe("tokenize", path, stdin=[{"text": "<s>Hey the"}])
        assert result["ids"] == tokenizer.encode("<s>Hey the", add_special_tokens=False).ids
        assert result["decoded"] == tokenizer.decode(result["ids"], skip_special_tokens=False)


def test_one_long_word_is_merged_in_moderate_time(tmp_path: Path) -> None:
    """Without a cut, as Gemma reads all text: 200 kB take 40 ms where trying every pair again would take half a minute."""
    path = saved(TOKENIZERS["gemma"](), tmp_path)
    text = " ".join(SAMPLES * 4).replace("\n", " ").encode()[:200_000]
    file = tmp_path / "text.txt"
    file.write_bytes(text)
    result = probe("time", path, file)
    tokenizer = Tokenizer.from_file(str(path))
    assert result["ids"] == tokenizer.encode(text.decode(errors="replace"), add_special_tokens=False).ids
    assert result["encode"] < 2


@pytest.mark.parametrize(("path", "value", "said"), [
    ("model.merges", [], "Every text would fall apart"),
    ("model.merges", [["a", 3]], "neither a string nor a pair"),
    ("model.vocab", {"a": -1}, "has the id -1"),
    ("model.vocab", ["a"], "must be an object"),
    ("model.type", "WordPiece", "text encoder"),
    ("model.type", "WordLevel", "text encoder"),
    ("model.type", "Wave", "Supported are BPE and Unigram"),
    ("model.dropout", 0.1, "random merges"),
    ("model.continuing_subword_prefix", "##", "continuing_subword_prefix"),
    ("normalizer", {"type": "Sequence", "normalizers": [{"type": "Romanise"}]}, "Romanise"),
    ("normalizer", {"type": "Precompiled", "precompiled_charsmap": "AAAA"}, "not a table of replacements"),
    ("pre_tokenizer", {"type": "UnicodeScripts"}, "UnicodeScripts"),
    ("pre_tokenizer", {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "sometimes"}, "sometimes"),
    ("pre_tokenizer", None, "The rule that cuts text into words is missing"),
    ("post_processor", {"type": "Knot"}, "Knot"),
    ("decoder", {"type": "CTC"}, "CTC"),
    ("decoder", {"type": "WordPiece"}, "WordPiece"),
    ("decoder", {"type": "Strip", "content": " ", "start": 0, "stop": 1}, "strips the end"),
])
def test_unknown_parts_are_refused_by_name(path: str, value: Any, said: str, tmp_path: Path) -> None:
    """F101 F103 F106 in the form tokenizer.json has them."""
    def change(data: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        for parent in parents:
            data = data[parent]
        data[last] = value

    assert said in refusal("tokenize", variant(trained(byte_level()), tmp_path / "tokenizer.json", change), stdin=[])


@pytest.mark.parametrize("whole", [False, True])
def test_words_without_merges_are_refused(whole: bool, tmp_path: Path) -> None:
    """F103: no bytes to fall back to; only added tokens and the unknown one are found whole."""
    words = [] if whole else ["▁añb"]
    tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(["<unk>", "<s>", "a", "b", *words])}, [], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="never")
    tokenizer.add_special_tokens(["<s>"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    if whole:
        (result,) = probe("tokenize", tmp_path / "tokenizer.json", stdin=[{"text": "<s>abc"}])
        assert result["ids"] == tokenizer.encode("<s>abc", add_special_tokens=False).ids
    else:
        assert "merges is empty" in refusal("tokenize", tmp_path / "tokenizer.json", stdin=[])


def test_damaged_json_is_refused_with_its_place(tmp_path: Path) -> None:
    """Also inside the lists that are read apart from the rest."""
    whole = llama2().to_str(pretty=True)
    for find, replacement in (('"<unk>": 0', '"<unk>" 0'), ('"merges": [', '"merges": [,'), ('"added_tokens": [', '"added_tokens": [,')):
        assert find in whole
        path = tmp_path / "tokenizer.json"
        path.write_text(whole.replace(find, replacement, 1))
        assert "is not valid JSON at line" in refusal("tokenize", path, stdin=[])
    path.write_text(whole[:len(whole) // 2])
    assert "is not valid JSON at line" in refusal("tokenize", path, stdin=[])
