# SPDX-License-Identifier: GPL-3.0-or-later
"""The trace file as h5py and h5dump see it: shapes, types, attributes and scales of the documented schema, values
from the formulas of tests/support/sample_trace.cpp written down once more in numpy."""
from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py  # type: ignore[import-untyped]
import numpy as np
import pytest

from conftest import run_program

pytestmark = pytest.mark.oracle

L, HQ, HKV, T, D, W = 4, 4, 2, 30, 8, 6
Array = np.ndarray[Any, np.dtype[Any]]


def wave(seed: Array) -> Array:
    values: Array = np.sin(np.float32(0.7) * (seed % 1009).astype(np.float32)).astype(np.float32)
    return values


def sample_keys() -> Array:
    layer, head, token, dim = np.ogrid[:L, :HKV, :T, :D]
    return wave(1 + layer * 97 + head * 31 + token * 7 + dim * 3)


def to_bf16(values: Array) -> Array:
    """Rounded to nearest even, on the bits."""
    bits = values.astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    result: Array = rounded.view(np.float32)
    return result


def written(folder: Path, *options: str) -> Path:
    path = folder / "sample.ecokv.h5"
    done = run_program("write_sample", path, *options)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[h5py.File]:
    with h5py.File(written(tmp_path_factory.mktemp("trace"))) as file:
        yield file


SHAPES: dict[str, tuple[tuple[int, ...], str, list[str]]] = {
    "tensors/keys": ((L, HKV, T, D), "f4", ["layer", "kv_head", "token", "dim"]),
    "tensors/values": ((L, HKV, T, D), "f4", ["layer", "kv_head", "token", "dim"]),
    "tensors/window_queries": ((L, HQ, W, D), "f4", ["layer", "head", "window", "dim"]),
    "tensors/window_positions": ((W,), "i8", ["window"]),
    "heads/redundancy": ((L, HKV), "f4", ["layer", "kv_head"]),
    "heads/redundancy_cosine": ((L, HKV), "f4", ["layer", "kv_head"]),
    "heads/redundancy_euclid": ((L, HKV), "f4", ["layer", "kv_head"]),
    "heads/anisotropy": ((L, HKV), "f4", ["layer", "kv_head"]),
    "heads/participation_ratio": ((L, HKV), "f4", ["layer", "kv_head"]),
    "heads/mean_key_norm": ((L, HKV), "f4", ["layer", "kv_head"]),
    "scores/importance": ((L, HKV, T), "f4", ["layer", "kv_head", "token"]),
    "scores/diversity": ((L, HKV, T), "f4", ["layer", "kv_head", "token"]),
    "scores/diversity_cosine": ((L, HKV, T), "f4", ["layer", "kv_head", "token"]),
    "scores/diversity_euclid": ((L, HKV, T), "f4", ["layer", "kv_head", "token"]),
    "scores/score": ((L, HKV, T), "f4", ["layer", "kv_head", "token"]),
    "scores/key_norm": ((L, HKV, T), "f4", ["layer", "kv_head", "token"]),
    "scores/value_norm": ((L, HKV, T), "f4", ["layer", "kv_head", "token"]),
    "prompt/token_ids": ((T,), "i8", ["token"]),
    "prompt/token_kind": ((T,), "u1", ["token"]),
    "prompt/image_index": ((T,), "i4", ["token"]),
    "prompt/patch_box": ((T, 4), "f4", ["token", "corner"]),
    "prompt/patch_role": ((T,), "u1", ["token"]),
    "images/0": ((16, 24, 3), "u1", ["y", "x", "channel"]),
    "policies/0/kept": ((L, HKV, T), "u1", ["layer", "kv_head", "token"]),
    "policies/0/budget_per_head": ((L, HKV), "i4", ["layer", "kv_head"]),
    "policies/0/output_error": ((L, HKV), "f4", ["layer", "kv_head"]),
    "policies/0/retained_mass": ((L, HKV), "f4", ["layer", "kv_head"]),
    "policies/0/decode/token_ids": ((3,), "i8", ["step"]),
    "policies/0/decode/logprob": ((3,), "f4", ["step"]),
    "decode/token_ids": ((3,), "i8", ["step"]),
}


@pytest.mark.parametrize("path", SHAPES)
def test_dataset_has_the_documented_shape_type_and_description(trace: h5py.File, path: str) -> None:
    shape, dtype, axes = SHAPES[path]
    dataset = trace[path]
    assert dataset.shape == shape
    assert dataset.dtype == np.dtype(dtype)
    assert list(dataset.attrs["axes"]) == axes
    assert len(dataset.attrs["description"]) > 5


def test_root_says_what_the_file_is(trace: h5py.File) -> None:
    assert trace.attrs["schema"] == "ecokv-trace"
    assert trace.attrs["schema_version"] == 1
    assert trace.attrs["producer"] == "sample 1"
    assert trace.attrs["complete"] == 1
    assert np.datetime64(trace.attrs["created"].removesuffix("Z")) > np.datetime64("2024-01-01")


def test_values_are_those_of_the_formulas(trace: h5py.File) -> None:
    np.testing.assert_allclose(trace["tensors/keys"][:], sample_keys(), rtol=0, atol=2e-7)
    layer, head, token = np.ogrid[:L, :HKV, :T]
    kept = ((token + layer + head) % 3 == 0) | (token >= 26)
    np.testing.assert_array_equal(trace["policies/0/kept"][:], kept)
    np.testing.assert_array_equal(trace["policies/0/budget_per_head"][:], kept.sum(-1))
    importance = trace["scores/importance"][:]
    expected = np.float32(0.01) * (1 + (token * 7 + layer * 5 + head * 3) % 30).astype(np.float32)
    np.testing.assert_array_equal(importance[..., :26], expected[..., :26])
    assert np.isnan(importance[..., 26:]).all()  # protected tokens


def test_text_is_utf8_of_variable_length(trace: h5py.File) -> None:
    info = h5py.check_string_dtype(trace["prompt/token_text"].dtype)
    assert info is not None and info.encoding == "utf-8" and info.length is None
    texts = trace["prompt/token_text"].asstr()[:]
    assert texts[0] == "<s>" and texts[29] == "w29" and texts[4] == ""
    assert trace["prompt/text"].asstr()[()].startswith("<s>USER: <image>")
    assert trace["model/config_json"].asstr()[()] == '{"model_type":"llava"}'
    assert trace["model"].attrs["rope_theta"] == 10000.0


def test_enumerations_carry_their_names(trace: h5py.File) -> None:
    assert h5py.check_enum_dtype(trace["prompt/token_kind"].dtype) == {"text": 0, "special": 1, "image": 2}
    assert h5py.check_enum_dtype(trace["prompt/patch_role"].dtype) == {
        "patch": 0, "newline": 1, "separator": 2, "thumbnail": 3}
    assert list(trace["prompt/token_kind"][:6]) == [1, 0, 0, 0, 2, 2]


def test_dimensions_are_named_and_have_scales(trace: h5py.File) -> None:
    keys = trace["tensors/keys"]
    assert [dim.label for dim in keys.dims] == ["layer", "kv_head", "token", "dim"]
    for dim, size in zip(keys.dims, keys.shape, strict=True):
        np.testing.assert_array_equal(dim[0][:], np.arange(size))
    queries = trace["tensors/window_queries"]
    np.testing.assert_array_equal(queries.dims[2][0][:], [24, 25, 26, 27, 28, 29])  # true positions
    assert trace["policies/1/kept"].dims[2][0] == trace["scales/token"]
    np.testing.assert_array_equal(trace["decode/logprob"].dims[0][0][:], [0, 1, 2])


def test_default_chain_leads_to_a_picture_of_redundancy(trace: h5py.File) -> None:
    """What silx and H5Web follow: NXroot, default, NXdata, signal, axes beside it."""
    assert trace.attrs["NX_class"] == "NXroot"
    group = trace[trace.attrs["default"]]
    assert group.attrs["NX_class"] == "NXdata"
    signal = group[group.attrs["signal"]]
    assert signal.name == "/heads/redundancy"
    axes = [group[axis] for axis in group.attrs["axes"]]
    assert [axis.shape[0] for axis in axes] == list(signal.shape)
    layer, head = np.ogrid[:L, :HKV]
    np.testing.assert_allclose(signal[:], 0.1 + 0.2 * layer + 0.05 * head, atol=1e-6)


def test_picture_follows_the_image_convention(trace: h5py.File) -> None:
    picture = trace["images/0"]
    assert picture.attrs["CLASS"] == b"IMAGE"
    assert picture.attrs["IMAGE_SUBCLASS"] == b"IMAGE_TRUECOLOR"
    assert picture.attrs["INTERLACE_MODE"] == b"INTERLACE_PIXEL"
    np.testing.assert_array_equal(picture[3, 5], [50, 45, 128])
    assert picture.attrs["grid_columns"] == 4


@pytest.mark.parametrize(("storage", "size"), [("bfloat16", 2), ("float16", 2), ("float32", 4)])
def test_every_float_type_is_read_as_the_values_written(tmp_path: Path, storage: str, size: int) -> None:
    """Field case F137: two-byte floats are real float types, read by h5py unaided."""
    with h5py.File(written(tmp_path, storage)) as file:
        keys = file["tensors/keys"]
        assert keys.id.get_type().get_size() == size
        assert keys.attrs["source_dtype"] == "float32"
        exact = sample_keys()
        expected = {"bfloat16": to_bf16(exact), "float16": exact.astype(np.float16), "float32": exact}[storage]
        atol = 2e-7 if storage == "float32" else 0  # sin of numpy and of the C library
        read = keys[:].astype(np.float32)
        close = np.isclose(read, expected.astype(np.float32), rtol=0, atol=atol)
        assert close.mean() > 0.999  # a last bit of sin may tip a rounding
        np.testing.assert_allclose(read, expected.astype(np.float32), rtol=2.0**-7)
        assert file["scores/score"].dtype == np.dtype("f4")  # scores never lose precision


def test_compact_files_use_built_in_filters_only(tmp_path: Path) -> None:
    with h5py.File(written(tmp_path, "bfloat16", "compact")) as file:
        keys = file["tensors/keys"]
        assert keys.compression == "gzip" and keys.shuffle
        assert keys.chunks == (1, 1, T, D)
        np.testing.assert_allclose(keys[:], to_bf16(sample_keys()), rtol=2.0**-7)


@pytest.mark.parametrize("storage", ["float32", "bfloat16", "float16"])
def test_h5dump_reads_the_same_numbers(tmp_path: Path, storage: str) -> None:
    tool = shutil.which("h5dump")
    if tool is None:
        pytest.skip("h5dump (package hdf5-tools) is not installed")
    path = written(tmp_path, storage)
    assert subprocess.run([tool, "-H", path], capture_output=True, check=True).returncode == 0
    dumped = tmp_path / "keys.txt"
    subprocess.run([tool, "-d", "/tensors/keys", "-y", "-w", "1", "-o", dumped, path], check=True,
                   capture_output=True)
    numbers = np.array([float(word.strip(",")) for word in dumped.read_text().split()], np.float32)
    with h5py.File(path) as file:
        np.testing.assert_allclose(numbers, file["tensors/keys"][:].astype(np.float32).ravel(), rtol=1e-5,
                                   atol=1e-7)


def test_the_file_leads_to_no_other_file(trace: h5py.File) -> None:
    """We write plain data only: no links into other files, no filters from plugins."""
    kinds: list[str] = []
    trace.visititems_links(lambda name, link: kinds.append(type(link).__name__))
    assert set(kinds) == {"HardLink"}
