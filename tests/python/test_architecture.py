# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of design.md and style.md that a test can hold: who includes whom, SPDX lines, file sizes, formatting."""
from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

# folder -> folders whose headers it may include (its own always)
MAY_INCLUDE = {
    "src/base": set(),
    "src/kernels": {"base"},
    "src/trace": {"base"},
    "src/cache": {"base", "kernels"},
    "src/policy": {"base", "cache", "kernels"},
    "src/model": {"base", "cache", "kernels"},
    "src/session": {"base", "kernels", "trace", "cache", "policy", "model"},
    "src/cli": {"base", "session", "trace", "analysis"},
    "analysis": {"base", "trace", "policy", "kernels"},
    "ui/models": {"base", "session", "analysis"},
    "ui/workers": {"base", "session", "analysis", "ui/models", "ui/plots"},  # figures are built off the GUI thread
    "ui/plots": {"base", "session", "analysis"},
    "ui/pages": {"base", "session", "analysis", "ui/models", "ui/workers", "ui/plots"},
    "ui/app": {"base", "session", "analysis", "ui/models", "ui/workers", "ui/plots", "ui/pages"},
}
PARTS = ("base", "kernels", "trace", "cache", "policy", "model", "session", "cli")
# library -> (pattern of its headers, folders that may include them)
LIBRARIES = {
    "Qt": (re.compile(r"^Q[A-Z][A-Za-z]+$|^Qt[A-Z]\w*/"), ("ui/",)),
    "QCustomPlot": (re.compile(r"^qcustomplot"), ("ui/plots/",)),
    "Torch": (re.compile(r"^(ATen|c10|torch|caffe2)/"), ("src/model/",)),
    "HDF5": (re.compile(r"^(hdf5|H5|H5\w+public)"), ("src/trace/",)),
    "Eigen": (re.compile(r"^(unsupported/)?Eigen/"), ("src/policy/",)),
    "CUDA": (re.compile(r"^(cuda|cub|cooperative_groups|thrust|nvtx)"), ("src/kernels/", "src/cache/")),
}
HARD_STOP_LINES = 800
SOURCE_SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".py", ".sh", ".cmake"}


def tracked(*patterns: str) -> list[Path]:
    out = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout
    return [ROOT / line for line in out.splitlines() if (ROOT / line).is_file()]


def folder_of(relative: str) -> str | None:
    return next((f for f in MAY_INCLUDE if relative.startswith(f + "/")), None)


def included_part(header: str) -> str | None:
    """The part a quoted include belongs to: "trace", "analysis", "ui/plots", ... or None for neighbours."""
    first, _, rest = header.partition("/")
    if first == "ui":
        return f"ui/{rest.split('/')[0]}"
    return first if first in (*PARTS, "analysis") else None


def includes() -> list[tuple[str, str]]:
    found = []
    for path in tracked("src/*", "analysis/*", "ui/*"):
        if path.suffix in {".h", ".cpp", ".cu", ".cuh"}:
            relative = str(path.relative_to(ROOT))
            found += [(relative, m.group(2)) for m in INCLUDE.finditer(path.read_text("utf-8"))]
    assert len(found) > 100, "the scan found too few includes to mean anything"
    return found


def test_parts_include_only_what_the_design_allows() -> None:
    wrong = []
    for relative, header in includes():
        folder, part = folder_of(relative), included_part(header)
        if folder is None or part is None or part == folder.removeprefix("src/"):
            continue
        if part not in MAY_INCLUDE[folder]:
            wrong.append(f"{relative} includes {header}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("library", sorted(LIBRARIES))
def test_a_library_is_included_only_by_its_owner(library: str) -> None:
    pattern, owners = LIBRARIES[library]
    wrong = [f"{relative} includes {header}" for relative, header in includes()
             if pattern.match(header) and not relative.startswith(owners)]
    assert not wrong, "\n".join(wrong)


def arguments_of(text: str, begin: int) -> list[str]:
    """Of the call whose bracket opens before `begin`."""
    depth, quoted, arguments, at = 1, False, [""], begin
    while depth > 0:
        letter = text[at]
        if quoted:
            if letter == "\\":
                arguments[-1] += letter
                at += 1
            quoted = letter != '"'
        elif letter == '"':
            quoted = True
        elif letter in "({[":
            depth += 1
        elif letter in ")}]":
            depth -= 1
        if depth == 1 and letter == "," and not quoted:
            arguments.append("")
        elif depth > 0:
            arguments[-1] += text[at]
        at += 1
    return [argument.strip() for argument in arguments]


def test_every_refusal_says_what_to_do() -> None:
    """Errors of a user's files and settings carry advice: `throwBadInput(message, advice)`, never one half of it."""
    seen, silent = 0, []
    for path in tracked("src/model/*.cpp", "src/model/*.h", "src/session/*.cpp", "src/cli/*.cpp"):
        text = path.read_text("utf-8")
        for call in re.finditer(r"\bthrow(?:BadInput|Usage)\(", text):
            seen += 1
            arguments = arguments_of(text, call.end())
            if len(arguments) != 2 or arguments[1] in ('""', "{}"):
                silent.append(f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, call.start()) + 1}: {arguments[0][:80]}")
    assert seen > 200, "the scan found too few refusals to mean anything"
    assert not silent, "\n".join(silent)


def test_session_headers_name_no_foreign_type() -> None:
    """The desktop includes these; they must stay free of Torch, CUDA, HDF5 and Qt (engine.h also of model)."""
    public = ("engine.h", "run_config.h", "run_result.h", "policy_catalogue.h")
    for name in public:
        text = (ROOT / "src/session" / name).read_text("utf-8")
        headers = [m.group(2) for m in INCLUDE.finditer(text)]
        assert not [h for h in headers if included_part(h) in ("model", "trace")], name


def test_every_source_file_has_its_spdx_line() -> None:
    missing = [str(p.relative_to(ROOT)) for p in tracked()
               if (p.suffix in SOURCE_SUFFIXES or p.name in ("CMakeLists.txt", "run"))
               and "SPDX-License-Identifier: GPL-3.0-or-later" not in p.read_text("utf-8")[:400]]
    assert not missing, "\n".join(missing)


def test_headers_begin_with_pragma_once() -> None:
    wrong = [str(p.relative_to(ROOT)) for p in tracked("src/*.h", "analysis/*.h", "ui/*.h", "tests/*.h")
             if not p.read_text("utf-8").startswith("#pragma once\n")]
    assert not wrong, "\n".join(wrong)


def test_no_file_passes_the_hard_stop() -> None:
    long = [f"{p.relative_to(ROOT)}: {n} lines" for p in tracked()
            if p.suffix in SOURCE_SUFFIXES and (n := p.read_text("utf-8").count("\n")) > HARD_STOP_LINES]
    assert not long, "\n".join(long)


def test_qt_keywords_are_off_for_the_whole_desktop() -> None:
    """F159: Qt's macros `slots`, `emit` clash with LibTorch's names."""
    keyword = re.compile(r"^\s*(?:public|private|protected)\s+slots\s*:|^\s*signals\s*:|\bemit\s+\w", re.MULTILINE)
    wrong = [str(p.relative_to(ROOT)) for p in tracked("ui/*.h", "ui/*.cpp")
             if keyword.search(re.sub(r"//.*", "", p.read_text("utf-8")))]
    assert not wrong, "\n".join(wrong)


def test_cplusplus_files_are_formatted() -> None:
    formatter = shutil.which("clang-format")
    assert formatter, "clang-format is missing; ./run installs it"
    files = [str(p) for p in tracked("*.h", "*.cpp", "*.cu", "*.cuh")]
    done = subprocess.run([formatter, "--dry-run", "--Werror", *files], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]


def test_nothing_names_a_machine_or_a_registry_host() -> None:
    forbidden = re.compile(r"/root/|/home/[a-z]|/work/|/tmp/bash_|snapshot\.debian|files\.pythonhosted")
    here = Path(__file__).resolve()
    wrong = []
    for path in tracked():
        if path == here or path.suffix in {".png", ".safetensors", ".h5", ".jpg", ".webp"}:
            continue
        match = forbidden.search(path.read_text("utf-8", errors="ignore"))
        if match:
            wrong.append(f"{path.relative_to(ROOT)}: {match.group(0)}")
    assert not wrong, "\n".join(wrong)
