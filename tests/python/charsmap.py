# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds a table of replacements as SentencePiece stores it: a double-array trie (darts-clone units) and the texts."""
from __future__ import annotations

import itertools
import struct
import unicodedata
from typing import Any

LEAF = ""  # key of a node's value; labels are bytes


def nfkc_rules() -> dict[str, str]:
    """Some of SentencePiece's nmt_nfkc, and rules that show which entry wins."""
    characters = [chr(c) for c in itertools.chain(range(0xFF01, 0xFF5F), range(0xFF66, 0xFF9E), range(0x2460, 0x2474),
                                                  range(0xFB00, 0xFB07), range(0xB2, 0xBF), range(0x3300, 0x3310))]
    rules = {c: unicodedata.normalize("NFKC", c) for c in characters if unicodedata.normalize("NFKC", c) != c}
    for base in "aeiouAEOUnç":
        for mark in "\u0300\u0301\u0302\u0303\u0308":
            composed = unicodedata.normalize("NFC", base + mark)
            if len(composed) == 1:
                rules[base + mark] = composed
    for syllable in range(0xAC00, 0xAC00 + 60):  # decomposed Hangul
        rules[unicodedata.normalize("NFD", chr(syllable))] = chr(syllable)
    rules |= {"\t": " ", "\n": " ", "\u3000": " ", "\u00a0": " ", "\u200b": "", "\u00ad": "", "\x01": "", "…": "..."}
    return rules | {"e": "e", "q": "Q", "q\u0301": "never"}  # the shorter entry hides the longer one


def charsmap(rules: dict[str, str]) -> bytes:
    """`precompiled_charsmap` of these replacements."""
    trie: dict[Any, Any] = {}
    texts = b""
    for key, replacement in rules.items():
        node = trie
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[LEAF] = len(texts)
        texts += replacement.encode() + b"\0"
    units = {0: 0}
    waiting = [(0, trie)]
    while waiting:
        at, node = waiting.pop()
        labels = [0 if label == LEAF else label for label in node]
        base = next(b for b in itertools.count(1) if all(b ^ label not in units for label in labels))
        units[at] |= (at ^ base) << 10 | (1 << 8 if LEAF in node else 0)
        for label, child in node.items():
            units[base ^ (0 if label == LEAF else label)] = 1 << 31 | child if label == LEAF else label
            if label != LEAF:
                waiting.append((base ^ label, child))
    count = (max(units) | 0xFF) + 1
    return struct.pack("<I", 4 * count) + struct.pack(f"<{count}I", *(units.get(i, 0) for i in range(count))) + texts
