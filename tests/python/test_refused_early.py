# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands in the way of a run is told before weights are read: on 2.8 GB of them, to be converted."""
from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import DEMO_DOCUMENTS, ROOT, program

sys.path.insert(0, str(ROOT / "scripts"))
from sparse_checkpoint import SHAPES, configuration, decoder_tensors, make, write_weights  # noqa: E402

PICTURE = DEMO_DOCUMENTS / "notice-board.png"
MOST_BYTES = 500_000_000  # the program with LibTorch takes about 200 MB, the weights 5.6 GB as f32
STATUS = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1B shape, its data a hole on disk."""
    return make(tmp_path_factory.mktemp("sparse") / "model", "1b")


def refusal(model: Path, *arguments: object) -> str:
    """What `ecokv run --dtype f32` says; it must end with 3 and must not have read the weights."""
    command = [program("ecokv"), "run", "--model", model, "--dtype", "f32", "--threads", 2, "--max-new-tokens", 1,
               "--budget", 64, *arguments]
    done = subprocess.run([sys.executable, "-c", STATUS, *map(str, command)], capture_output=True, text=True, timeout=120)
    code, peak = map(int, done.stdout.split())
    assert code == 3, done.stderr
    assert peak < MOST_BYTES, (peak, done.stderr)
    return done.stderr


def reshape(folder: Path, tensor: str, shape: list[int]) -> None:
    """Writes another shape with as many values into the header of the one shard."""
    (file,) = folder.glob("*.safetensors")
    with file.open("r+b") as data:
        (length,) = struct.unpack("<Q", data.read(8))
        header = json.loads(data.read(length))
        header[tensor]["shape"] = shape
        text = json.dumps(header, separators=(",", ":")).encode()
        assert len(text) <= length
        data.seek(8)
        data.write(text.ljust(length))


def test_a_tensor_of_another_shape_is_told_before_any_is_converted(tmp_path: Path) -> None:
    """The last layer's: every other tensor was converted before."""
    folder = make(tmp_path / "model", "1b")
    name = "language_model.model.layers.21.mlp.down_proj.weight"
    reshape(folder, name, [5632, 2048])
    said = refusal(folder, "--prompt", "Hello")
    assert "Of another shape (1)" in said and name in said


def test_a_damaged_picture_is_told(model: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "half.png"
    damaged.write_bytes(PICTURE.read_bytes()[:3000])
    assert "half.png" in refusal(model, "--image", damaged, "--prompt", "What is this?")


def test_more_markers_than_pictures_are_told(model: Path) -> None:
    assert "<image>" in refusal(model, "--image", PICTURE, "--plain-prompt", "--prompt", "<s><image><image>What is this?")


def test_a_prompt_longer_than_the_context_is_told(model: Path) -> None:
    said = refusal(model, "--plain-prompt", "--prompt", "<s>" + "x" * 4999)
    assert "The prompt needs 5000 tokens, but the model was made for 4096." in said


def test_a_question_with_a_picture_marker_is_told(model: Path) -> None:
    assert "<image>" in refusal(model, "--prompt", "Hello", "--ask", "And this <image>?")


def test_a_picture_for_a_model_without_eyes_is_told(tmp_path: Path) -> None:
    """The decoder of the same shape alone."""
    folder, shape = make(tmp_path / "model", "1b"), SHAPES["1b"]
    text = configuration(shape)["text_config"]
    assert isinstance(text, dict)
    (folder / "config.json").write_text(json.dumps(text | {"architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16"}))
    (folder / "preprocessor_config.json").unlink()
    for file in folder.glob("*.safetensors"):
        file.unlink()
    write_weights(folder, {n.removeprefix("language_model."): s for n, s in decoder_tensors(shape).items()}, 5_000_000_000)
    assert "reads text only, but 1 picture(s) were given" in refusal(folder, "--image", PICTURE, "--prompt", "What is this?")
