# SPDX-License-Identifier: GPL-3.0-or-later
"""Picture files to pixels, against PIL: formats, orientation, transparency, damage."""
from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
import pytest
from conftest import DEMO_MODEL, run_ecokv, run_program
from model_probe import probe, refusal
from photos import photo, saved
from PIL import Image, ImageColor, ImageOps

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore:Palette images with Transparency")]

Pixels = npt.NDArray[np.uint8]


def decoded(folder: Path, path: Path, *reading: str) -> tuple[Pixels, dict[str, Any]]:
    """What our decoder makes of the file: [height, width, 3] u8, and what it says. `reading`: "as-stored" or a colour."""
    out = folder / "out.u8"
    said = probe("decode", path, out, *reading)
    return np.fromfile(out, np.uint8).reshape(said["height"], said["width"], 3), said


def by_pil(path: Path) -> Pixels:
    """The reference: upright, without alpha."""
    return np.asarray(ImageOps.exif_transpose(Image.open(path)).convert("RGB"))


PICTURES: dict[str, tuple[Image.Image, str, dict[str, Any]]] = {
    "jpeg": (photo(61, 43), "a.jpg", {"quality": 90}),
    "jpeg-progressive-444": (photo(61, 43), "a.jpg", {"progressive": True, "subsampling": 0}),
    "jpeg-grey": (photo(61, 43).convert("L"), "a.jpg", {}),
    "png": (photo(33, 21), "a.png", {}),
    "png-grey": (photo(33, 21).convert("L"), "a.png", {}),
    "png-grey-alpha": (photo(33, 21).convert("LA"), "a.png", {}),
    "png-one-bit": (photo(33, 21).convert("1"), "a.png", {}),
    "png-palette": (photo(33, 21).quantize(16), "a.png", {"transparency": 3}),
    "png-interlaced-size-1x300": (photo(1, 300), "a.png", {}),
    "png-300x1": (photo(300, 1), "a.png", {}),
    "png-3x3": (photo(3, 3), "a.png", {}),
    "png-hidden-red": (Image.new("RGBA", (2, 2), (255, 0, 0, 0)), "a.png", {}),
    "png-gamma": (photo(9, 9), "a.png", {"gamma": 1.0}),
    "webp-lossy": (photo(64, 48), "a.webp", {"quality": 80}),
    "webp-lossless-alpha": (photo(64, 48).convert("RGBA"), "a.webp", {"lossless": True}),
    "webp-hidden-red": (Image.new("RGBA", (4, 4), (200, 0, 0, 0)), "a.webp", {"lossless": True, "exact": True}),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pixels_equal_pil(name: str, tmp_path: Path) -> None:
    """F059 F062."""
    image, file, options = PICTURES[name]
    path = saved(tmp_path, image, file, **options)
    pixels, said = decoded(tmp_path, path)
    assert not said["notes"]
    np.testing.assert_array_equal(pixels, by_pil(path))


def shaded(mode: str) -> Image.Image:
    """All 256 shades of alpha over noisy colours."""
    picture = photo(32, 24)
    picture.putalpha(Image.fromarray((np.arange(32 * 24) % 256).astype(np.uint8).reshape(24, 32)))
    return picture.convert(mode)


SEE_THROUGH: dict[str, tuple[Image.Image, str, dict[str, Any]]] = {
    "png": (shaded("RGBA"), "a.png", {}),
    "png-grey": (shaded("LA"), "a.png", {}),
    "png-grey-colour-key": (photo(33, 21).convert("L"), "a.png", {"transparency": 128}),
    "png-colour-key": (Image.new("RGB", (3, 3), (9, 8, 7)), "a.png", {"transparency": (9, 8, 7)}),
    "png-palette": (photo(33, 21).quantize(16), "a.png", {"transparency": bytes(range(0, 256, 16))}),
    "png-hidden-red": (Image.new("RGBA", (2, 2), (255, 0, 0, 0)), "a.png", {}),
    "webp-lossless": (shaded("RGBA"), "a.webp", {"lossless": True, "exact": True}),
    "webp-lossy": (shaded("RGBA"), "a.webp", {"quality": 80}),
}


@pytest.mark.parametrize("colour", ["white", "black", "#3080f1"])
@pytest.mark.parametrize("name", SEE_THROUGH)
def test_transparent_pixels_are_blended_on_request(name: str, colour: str, tmp_path: Path) -> None:
    """F062: as PIL's alpha_composite over that colour, to the bit."""
    image, file, options = SEE_THROUGH[name]
    path = saved(tmp_path, image, file, **options)
    pixels, said = decoded(tmp_path, path, colour)
    over = Image.open(path).convert("RGBA")
    assert over.getextrema()[3][0] < 255
    expected = Image.alpha_composite(Image.new("RGBA", over.size, colour), over).convert("RGB")
    np.testing.assert_array_equal(pixels, np.asarray(expected))
    assert said["transparency"] == "blended on #{:02x}{:02x}{:02x}".format(*ImageColor.getrgb(colour)[:3])


@pytest.mark.parametrize("name", SEE_THROUGH)
def test_transparent_pixels_are_dropped_by_default(name: str, tmp_path: Path) -> None:
    """F062: the reference's rule, and it is said."""
    image, file, options = SEE_THROUGH[name]
    path = saved(tmp_path, image, file, **options)
    pixels, said = decoded(tmp_path, path)
    np.testing.assert_array_equal(pixels, by_pil(path))
    assert said["transparency"] == "dropped"


@pytest.mark.parametrize("file", ["a.jpg", "a.png", "opaque.png"])
def test_pictures_without_transparent_pixels_are_left_alone(file: str, tmp_path: Path) -> None:
    """F062: also where an alpha channel says that nothing is transparent."""
    image = photo(20, 10)
    path = saved(tmp_path, image.convert("RGBA") if file.startswith("opaque") else image, file)
    pixels, said = decoded(tmp_path, path, "white")
    np.testing.assert_array_equal(pixels, by_pil(path))
    assert said["transparency"] == "none"


def test_a_run_and_the_doctor_read_pictures_as_told_and_record_it(tmp_path: Path) -> None:
    """F058 F062: a turned, half transparent PNG through the CLI, into the trace."""
    exif = Image.Exif()
    exif[0x0112] = 6
    path = saved(tmp_path, shaded("RGBA"), "a.png", exif=exif)
    report = run_ecokv("doctor", DEMO_MODEL, "--image", path, "--prompt", "ZXY?")
    (picture,) = report["pictures"]
    assert (picture["width"], picture["height"], picture["transparency"]) == (24, 32, "dropped")
    said = [finding["text"] for finding in report["findings"] if finding["label"] == "Picture" and "a.png" in finding["text"]]
    assert said[0].endswith(", transparency dropped")
    trace = tmp_path / "run.ecokv.h5"
    run_ecokv("run", "--model", DEMO_MODEL, "--image", path, "--prompt", "ZXY?", "--ignore-orientation", "--blend-alpha", "white",
              "--max-new-tokens", 1, "--policy", "full", "--trace", trace)
    over = Image.open(path).convert("RGBA")
    expected = Image.alpha_composite(Image.new("RGBA", over.size, "white"), over).convert("RGB")
    with h5py.File(trace) as file:
        stored = file["images/0"]
        np.testing.assert_array_equal(stored[...], np.asarray(expected))
        assert stored.attrs["transparency"] == "blended on #ffffff" and stored.attrs["orientation"] == 1
        settings = json.loads(file["run/arguments_json"][()])
        assert settings["blend_alpha"] == "#ffffff" and settings["apply_orientation"] is False
    refused = run_program("ecokv", "run", "--model", DEMO_MODEL, "--image", path, "--prompt", "ZXY?", "--policy", "full",
                          "--blend-alpha", "pink")
    assert refused.returncode == 2 and '"pink"' in refused.stderr and "#rrggbb" in refused.stderr


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("file", ["a.jpg", "a.png", "a.webp"])
def test_orientation_is_applied(orientation: int, file: str, tmp_path: Path) -> None:
    """F058: 24 x 16 with tag 6 loads as 16 x 24."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = saved(tmp_path, photo(24, 16), file, exif=exif)
    pixels, said = decoded(tmp_path, path)
    assert (said["width"], said["height"]) == ((16, 24) if orientation >= 5 else (24, 16))
    assert said["orientation"] == orientation and not said["notes"]
    np.testing.assert_array_equal(pixels, by_pil(path))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("file", ["a.jpg", "a.png", "a.webp"])
def test_orientation_is_ignored_on_request(orientation: int, file: str, tmp_path: Path) -> None:
    """F058, the switch: the pixels as stored, whatever the tag says."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = saved(tmp_path, photo(24, 16), file, exif=exif)
    pixels, said = decoded(tmp_path, path, "as-stored")
    assert (said["width"], said["height"], said["orientation"]) == (24, 16, 1) and not said["notes"]
    np.testing.assert_array_equal(pixels, np.asarray(Image.open(path).convert("RGB")))
    assert orientation == 1 or pixels.shape != by_pil(path).shape or (pixels != by_pil(path)).any(), "the tag matters"


@pytest.mark.parametrize("value", [0, 9, 65535])
def test_broken_orientation_is_ignored_with_a_note(value: int, tmp_path: Path) -> None:
    """F058."""
    exif = Image.Exif()
    exif[0x0112] = value
    path = saved(tmp_path, photo(24, 16), "a.jpg", exif=exif)
    pixels, said = decoded(tmp_path, path)
    assert pixels.shape == (16, 24, 3)
    assert said["orientation"] == 1 and f"value {value}" in said["notes"][0]


def test_broken_exif_block_is_ignored_with_a_note(tmp_path: Path) -> None:
    """F058: an APP1 block that is no TIFF."""
    path = saved(tmp_path, photo(24, 16), "a.jpg", exif=b"Exif\0\0garbage" + b"\xff" * 40)
    pixels, said = decoded(tmp_path, path)
    assert pixels.shape == (16, 24, 3)
    assert "EXIF block" in said["notes"][0] and "a.jpg" in said["notes"][0]


def test_cmyk_is_right_with_adobe_marker_and_refused_without(tmp_path: Path) -> None:
    """F061: solid red."""
    buffer = io.BytesIO()
    Image.new("CMYK", (16, 16), (0, 255, 255, 0)).save(buffer, "JPEG", quality=95)
    data = buffer.getvalue()
    path = tmp_path / "adobe.jpg"
    path.write_bytes(data)
    pixels, _ = decoded(tmp_path, path)
    np.testing.assert_allclose(pixels, np.broadcast_to([255, 0, 0], (16, 16, 3)), atol=4)
    np.testing.assert_array_equal(pixels, by_pil(path))
    at = data.index(b"\xff\xee")
    bare = tmp_path / "bare.jpg"
    bare.write_bytes(data[:at] + data[at + 2 + int.from_bytes(data[at + 2:at + 4], "big"):])
    assert "no Adobe marker" in refusal("decode", bare, tmp_path / "out")


def test_sixteen_bit_grey_keeps_its_high_byte(tmp_path: Path) -> None:
    """PIL clips these at 255, which turns them white; a note says so."""
    path = saved(tmp_path, Image.fromarray(np.array([[0, 256, 32768, 65535]], np.uint16)), "a.png")
    pixels, said = decoded(tmp_path, path)
    assert pixels[0, :, 0].tolist() == [0, 1, 128, 255]
    assert "16-bit" in said["notes"][0]


@pytest.mark.parametrize("file", ["a.jpg", "a.png", "a.webp"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_cut_files_are_refused(file: str, share: float, tmp_path: Path) -> None:
    """Never half a picture without a word."""
    path = saved(tmp_path, photo(120, 90), file)
    path.write_bytes(path.read_bytes()[:int(path.stat().st_size * share)])
    said = refusal("decode", path, tmp_path / "out")
    assert file in said and ("damaged" in said or "cut short" in said)


@pytest.mark.parametrize(("data", "said"), [
    (b"", "empty"), (b"GIF89a" + b"\0" * 20, "GIF"), (b"BM" + b"\0" * 60, "BMP"), (b"\0\0\0\x1cftypheic", "HEIC"),
    (b"\0\0\0\x18ftypisom\0\0\2\0", "ffmpeg"), (b"\x1a\x45\xdf\xa3\x9f", "video"), (b"RIFF\0\0\0\0AVI LIST", "video"),
    (b"<html><body>", "web page"), (b"hello, world", "not a picture"),
])
def test_other_files_are_refused_by_name(data: bytes, said: str, tmp_path: Path) -> None:
    """What it is, and what is supported."""
    path = tmp_path / "x.png"
    path.write_bytes(data)
    sentence = refusal("decode", path, tmp_path / "out")
    assert said in sentence and "Supported are JPEG, PNG and WebP" in sentence


def test_huge_picture_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    """The header alone says 20000 x 20000."""
    path = saved(tmp_path, Image.new("1", (20000, 20000)), "a.png")
    assert "20000 x 20000" in refusal("decode", path, tmp_path / "out")
