# SPDX-License-Identifier: GPL-3.0-or-later
"""What a built folder says of itself, so that a second call knows that it is whole.

Needs neither torch nor transformers: looking takes milliseconds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from demo_135m.package import GGUF_SHA256, PACKAGE, VERSION, WHEEL_SHA256, sha256_of
from demo_135m.reporting import DemoError

MANIFEST = "ecokv-demo.json"
WEIGHTS = "model.safetensors"
FORMAT = 1  # another number: folders of older programs are built anew
LONGEST_HEADER = 1 << 24  # bytes


def header_sha256(weights: Path) -> str:
    """Digest of the JSON header of a safetensors file: names, shapes, types and places of all
    tensors."""
    with weights.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        return hashlib.sha256(stream.read(min(length, LONGEST_HEADER))).hexdigest()


def write(folder: Path, name: str, tower: Path | None) -> None:
    """Describes every file of `folder`; the last one that is written into it."""
    files = sorted(file for file in folder.iterdir() if file.name != MANIFEST)
    text = json.dumps(
        {
            "format": FORMAT,
            "name": name,
            "package": f"{PACKAGE}=={VERSION}",
            "wheel_sha256": WHEEL_SHA256,
            "gguf_sha256": GGUF_SHA256,
            "tower_sha256": sha256_of(tower) if tower else None,
            "header_sha256": header_sha256(folder / WEIGHTS),
            "files": {
                file.name: {"bytes": file.stat().st_size, "sha256": sha256_of(file)}
                for file in files
            },
        },
        indent=1,
    )
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def check_header(folder: Path, expected: str) -> None:
    """The tensors must be those the demo was made with."""
    found = header_sha256(folder / WEIGHTS)
    if found != expected:
        raise DemoError(
            f"The assembled weights are laid out in another way than expected (SHA-256 of their "
            f"header {found}, not {expected}).",
            "The versions of torch, transformers, safetensors and gguf have to be those of "
            "requirements.txt; ./run installs them.",
        )


def damaged_file(folder: Path) -> str | None:
    """Name of a file whose bytes are not those that were written; reads all of them."""
    described = json.loads((folder / MANIFEST).read_text("utf-8"))
    for name, of in described["files"].items():
        if sha256_of(folder / name) != of["sha256"]:
            return str(name)
    return None


def is_whole(folder: Path, name: str, expected_header: str, tower: Path | None) -> bool:
    """Whether `folder` holds this demo, made of the same parts, with every file as long as it was
    written and the expected tensors."""
    try:
        found = json.loads((folder / MANIFEST).read_text("utf-8"))
        lengths: Mapping[str, Mapping[str, int]] = found["files"]
        return (
            found["format"] == FORMAT
            and found["name"] == name
            and found["gguf_sha256"] == GGUF_SHA256
            and found["tower_sha256"] == (sha256_of(tower) if tower else None)
            and WEIGHTS in lengths
            and all((folder / file).stat().st_size == of["bytes"] for file, of in lengths.items())
            and header_sha256(folder / WEIGHTS) == expected_header
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
