# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures for the oracles of the families, and what a processor of transformers makes of them."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from photos import photo
from PIL import Image, ImageOps
from tiny_models import OurPrompt, check_bf16, check_parity, load_tiny
from transformers import PreTrainedModel


def saved_all(folder: Path, pictures: list[Image.Image]) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"picture{i}.png" for i in range(len(pictures))]
    for path, picture in zip(paths, pictures, strict=True):
        picture.save(path)
    return paths


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


def check_answer(folder: Path, out: Path, model: tuple[PreTrainedModel, Any], text: str, *sizes: tuple[int, int]) -> None:
    """A prompt with its markers and pictures of these sizes against `model`, the reference and its processor."""
    reference, processor = model
    paths = saved_photos(out, *sizes)
    check_parity(folder, out, reference, inputs=reference_inputs(processor, text, paths), text=text, images=paths)


def check_order(folder: Path, out: Path, model: tuple[PreTrainedModel, Any], text: str) -> None:
    """F072: swapped pictures are another prompt, and both equal the reference."""
    reference, processor = model
    paths = saved_photos(out, (30, 50), (90, 25))
    runs = []
    for i, order in enumerate((paths, paths[::-1])):
        inputs = reference_inputs(processor, text, order)
        runs.append(check_parity(folder, out / str(i), reference, inputs=inputs, text=text, images=order))
    assert np.abs(runs[0].logits[0] - runs[1].logits[0]).max() > 0.05


def check_bf16_answer(folder: Path, out: Path, model_class: type[PreTrainedModel], processor: Any, text: str) -> None:
    """A prompt with one picture, both sides in bf16."""
    paths = saved_photos(out, (60, 35))
    inputs = reference_inputs(processor, text, paths)
    inputs["pixel_values"] = inputs["pixel_values"].to(torch.bfloat16)
    check_bf16(folder, out, load_tiny(folder, model_class, torch.bfloat16), inputs, text=text,
               images=[str(path) for path in paths], apply_template=False)


def boxes_of_picture(ours: OurPrompt, role: int, picture: int = 0) -> list[list[float] | None]:
    """Boxes of the image tokens with that role."""
    return [box for kind, image, is_role, box in zip(ours.kinds, ours.image, ours.roles, ours.boxes, strict=True)
            if kind == 2 and image == picture and is_role == role]
