# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures made up for tests; needs no torch, so that tests of picture files start at once."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image


def photo(width: int, height: int, seed: int = 0) -> Image.Image:
    """Smooth parts, hard edges and noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    base = np.stack([x * 255 / max(width - 1, 1), y * 255 / max(height - 1, 1), 255 * ((x // 7 + y // 5) % 2)], axis=-1)
    return Image.fromarray(np.clip(base + rng.normal(0, 25, base.shape), 0, 255).astype(np.uint8))


def saved(folder: Path, image: Image.Image, name: str, **options: Any) -> Path:
    """The path of the written picture."""
    path = folder / name
    image.save(path, **options)
    return path
