# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts that tokenizers are trained on and compared over."""
from __future__ import annotations

import random
import unicodedata

WORDS = [
    "the", "capital", "of", "France", "is", "Paris", "and", "we're", "not", "there", "yet;", "they'll", "say", "it's", "12345", "or",
    "3.14", "naïve", "façade", "Straße", "Ünicode", "Привет", "мир", "Ελλάδα", "你好", "世界", "東京", "안녕하세요", "שלום", "مرحبا", "नमस्ते",
    "ไทย", "def", "f(x):", "return", "x", "->", "y", "//", "comment", "{'a':", "[1,", "2]}", "<div", 'class="b">', "😀",
    "👩\u200d👩\u200d👧", "🇩🇪", "é", "é",
]
SENTENCES = [
    "The quick brown fox jumps over the lazy dog.", "Où est la bibliothèque ? « Là-bas », dit-il…",
    "Der Fluß fließt durch Köln — 12,5 km weiter.", "El niño comió ¿cuántas? ¡Tres manzanas!",
    "Съешь ещё этих мягких французских булок, да выпей чаю.", "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.",
    "我能吞下玻璃而不伤身体。", "いろはにほへと ちりぬるを ﾊﾝｶｸ カタカナ", "키스의 고유조건은 입술끼리 만나야 하고", "דג סקרן שט בים מאוכזב",
    "نص حكيم له سر قاطع وذو شأن عظيم", "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा", "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า",
    "Pchnąć w tę łódź jeża lub ośm skrzyń fig", "İstanbul'da IŞIK ıslak İĞNE", "Tiếng Việt có dấu: ế ệ ổ ữ ặ",
    "for (int i = 0; i < n; ++i) { sum += a[i] * b[i]; }", "SELECT * FROM t WHERE x >= 10 AND y LIKE '%a_b%';",
    "def f(x: int) -> str:\n    return f\"{x!r:>10}\"\n\n\n# done\t\t\n", "{\"key\": [1, 2.5e-3, null, \"\\u00e9\\n\"]}",
    "<html><body class='a'>&nbsp;&lt;b&gt;</body></html>", "https://example.org/path?q=a%20b&c=d#frag", "$\\frac{a}{b} \\neq \\sum_{i=1}^n x_i^2$",
    "ＦＵＬＬ　ｗｉｄｔｈ　１２３", "①②③ ㌀㌁ ½ ¾ x² H₂O ﬁﬂ ﬃ Ⅷ ℌ", "≤≥≠±×÷√∞∂∫ ←↑→↓ ♠♣♥♦ ★☆", "1,234,567.89 0x1F 1e-9 ٣٤٥ १२३ ๔๕",
]
FIXED = [
    "", " ", "  ", "a", " a", "a ", "a  b", "trailing   ", "\n", "\r\n\r\n", "\t x", "a\n\n b", "->", "(x):\n", "12345", "1234567890123",
    "don't DON'T we'LL I'm they'Re 'ſ", "x\u00a0y", "\u2003wide", "\u0085next", "\u180emvs", "\u200bzero", "\x00\x01\x02", "\x7f\x80\x9f",
    "e\u0301 \u00e9", "\u1112\u1161\u11ab", "ﬁ ﬀ ½ Ⅳ ²", "😀", "👩‍👩‍👧‍👦", "🇩🇪🇫🇷", "🏳️‍🌈🏴‍☠️", "👍🏽👩🏿‍🚀", "❤️‍🔥 1️⃣ #️⃣", "العربية ١٢٣", "\ufeffbom",
    "\U0010ffff", "<s>", "</s><image>", "a<image>b <image> c", " <image>", "<s><s>Hey", "<s>Hey", "<s> Hey", "<|end|>x", " <|end|> y",
    "[WORD] a[WORD] [WORD]b", "_[WORD] [WORD]\u0301 ([WORD])", "cafe\u0301 café xcafé", "CAFÉ", "<unk>", "x<unk>y", "<0x41><0x0A>", "▁", "▁▁", " ▁ ",
    "a▁b", "▁the the", "<pad>▁<pad>", "if (a && b) { return c[0]; }\n\t// ok", "{{ x }}", "ÀÉ", "q\u0301q", "Ａ\u0301", "\u0301", "\u200d", "\ufffd", "�a�",
    "\u0130\u0131", "ΑΣ ΟΔΟΣ", "a" * 300, " " * 300, "\n" * 40, "ab" * 200, "漢" * 100, "😀" * 60, "é" * 60, "-" * 130, "   a   b\t\tc \n d",
]
RANGES = [(0, 0x7F), (0x80, 0x24F), (0x370, 0x5FF), (0x600, 0x6FF), (0x900, 0x97F), (0x0E00, 0x0E7F), (0x1100, 0x11FF), (0x1E00, 0x1FFF),
          (0x2000, 0x206F), (0x2100, 0x2BFF), (0x3040, 0x9FFF), (0xA000, 0xABFF), (0xAC00, 0xD7A3), (0xF900, 0xFFEF), (0x1F300, 0x1FAFF),
          (0, 0xD7FF), (0xE000, 0x10FFFF)]
EMOJI = ["👩", "👨", "🧑", "🏽", "🏿", "\u200d", "\ufe0f", "❤", "🔥", "🚀", "🇩", "🇪", "🇫", "🏴", "☠", "🏳", "🌈", "1", "#", "\u20e3", "😀", "🫠", "🤷", "♂"]
MARKS = ["\u0300", "\u0301", "\u0308", "\u0323", "\u0327", "\u0338", "\u093c", "\u094d", "\u0e49", "\u05b0", "\u064b", "\u3099", "\u20dd", "\ufe0f"]
SPACES = [" ", "  ", "   ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\u3000", "\u200b", "\u2028", "\u0085", "\v", "\f"]
ADDED = ["<s>", "</s>", "<image>", "<|end|>", "[WORD]", "cafe\u0301", "<unk>", "<0xE4>"]


def training_lines() -> list[str]:
    """Lines to train on."""
    rng = random.Random(3)
    return [" ".join(rng.choices(WORDS, k=rng.randint(3, 12))) for _ in range(400)]


CHANGED = {*range(0xA7F2, 0xA7F5), *range(0x10780, 0x107BB), 0xA9BD}


def known(text: str) -> str:
    """Without characters that not all versions of Unicode have that take part.

    Python 3.11, PCRE2 10.42 and utf8proc 2.8 know Unicode 14. The reference splits by 15 and 16, but its normal forms are
    older: it does not take apart the modifier letters that came with 14, and takes a Javanese sign for a spacing mark.
    """
    return "".join(c for c in text if unicodedata.category(c) not in ("Cn", "Cs") and ord(c) not in CHANGED)


def made_up(rng: random.Random, index: int) -> str:
    """One random text of the kind that `index` says."""
    def some(choices: list[str], most: int, least: int = 1) -> list[str]:
        return rng.choices(choices, k=rng.randint(least, most))

    kind = index % 10
    if kind < 2:
        low, high = RANGES[index // 10 % len(RANGES)]
        return known("".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 40))))
    if kind < 4:
        return rng.choice(["", " ", "\n"]).join(some([*WORDS, "  ", "\n"], 15))
    if kind == 4:  # special tokens inside text
        return "".join(some([*WORDS, *ADDED, *ADDED, " ", "  ", "\n"], 10, 2))
    if kind == 5:  # random bytes
        return known(bytes(rng.choices(range(256), k=rng.randint(1, 30))).decode("utf-8", "replace"))
    if kind == 6:  # ZWJ sequences and flags, whole and broken
        return "".join(some(EMOJI, 10))
    if kind == 7:  # combining marks
        return "".join(c + "".join(some(MARKS, 2, 0)) for c in some(list("aeiouAEnçéक\u0ba8かㄱ가"), 10))
    if kind == 8:  # runs of spaces
        return "".join(rng.choice(SPACES) * rng.randint(1, 4) + rng.choice(["", rng.choice(WORDS)]) for _ in range(rng.randint(1, 8)))
    sentence = rng.choice(SENTENCES)
    cut = sorted(rng.sample(range(len(sentence) + 1), 2))
    return sentence[cut[0]:cut[1]] + rng.choice(["", " ", "\n"]) + rng.choice(SENTENCES)


def texts() -> list[str]:
    """More than 2,000 strings: languages, code, emoji, control characters, marks, spaces, random bytes, special tokens."""
    rng = random.Random(7)
    return [*FIXED, *SENTENCES, *(made_up(rng, i) for i in range(1950))]
