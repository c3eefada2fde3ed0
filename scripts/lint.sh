#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Style checks: lint.sh BUILD_DIR [BASE]. Formatting of every C++ file, clang-tidy on C++ sources that
# differ from BASE (default: the commit before), ruff and mypy on Python where they are installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build_dir=$1
base=${2:-HEAD~1}

mapfile -t sources < <(git ls-files '*.h' '*.cpp' '*.cu' '*.cuh')
clang-format --dry-run --Werror "${sources[@]}"

mapfile -t changed < <(git diff --name-only --diff-filter=d "$base" -- 'src/*.cpp' 'analysis/*.cpp' 'ui/*.cpp')
if [ ${#changed[@]} -gt 0 ]; then
    clang-tidy --quiet --warnings-as-errors='*' -p "$build_dir" "${changed[@]}"
fi

if [ -x .venv/bin/ruff ]; then
    .venv/bin/ruff check scripts tests analysis resources/demo-135m
fi
if [ -x .venv/bin/mypy ]; then
    .venv/bin/mypy --ignore-missing-imports scripts/summarize_tests.py
    MYPYPATH=scripts:resources/demo-135m .venv/bin/mypy --config-file scripts/demo_model/mypy.ini \
        -p demo_model -p demo_135m -p results
fi
echo "lint: clean"
