# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures for the oracles of the families, and what a processor of transformers makes of them."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps
from tiny_models import OurPrompt


def photo(width: int, height: int, seed: int = 0) -> Image.Image:
    """Smooth parts, hard edges and noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    base = np.stack([x * 255 / max(width - 1, 1), y * 255 / max(height - 1, 1), 255 * ((x // 7 + y // 5) % 2)], axis=-1)
    return Image.fromarray(np.clip(base + rng.normal(0, 25, base.shape), 0, 255).astype(np.uint8))


def saved_photos(folder: Path, *sizes: tuple[int, int]) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{i}.png" for i in range(len(sizes))]
    for i, (path, size) in enumerate(zip(paths, sizes, strict=True)):
        photo(*size, seed=i).save(path)
    return paths


def saved_rotated(path: Path, width: int, height: int) -> Path:
    """A JPEG of that size whose EXIF tag 6 turns it upright: it is seen as height x width."""
    exif = Image.Exif()
    exif[0x0112] = 6
    photo(width, height).save(path, quality=95, exif=exif)
    return path


def reference_inputs(processor: Any, text: str, paths: list[Path]) -> dict[str, Any]:
    """What the processor makes of a prompt with its markers in it."""
    pictures = [ImageOps.exif_transpose(Image.open(path)) for path in paths]
    return dict(processor(images=pictures, text=text, return_tensors="pt", add_special_tokens=False))


def boxes_of_picture(ours: OurPrompt, role: int, picture: int = 0) -> list[list[float] | None]:
    """Boxes of the image tokens with that role."""
    return [box for kind, image, is_role, box in zip(ours.kinds, ours.image, ours.roles, ours.boxes, strict=True)
            if kind == 2 and image == picture and is_role == role]
