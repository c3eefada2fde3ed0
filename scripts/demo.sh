#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Records the demo trace with the CLI and draws its figures: demo.sh BUILD_DIR OUT_DIR
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$1/bin
out=$2
mkdir -p "$out"

read -r picture question answer < <(python3 - <<'PYTHON'
import json
document = json.load(open("resources/demo-documents/documents.json", encoding="utf-8"))["documents"][0]
question = document["questions"][0]
print(document["file"], question["question"], question["answer"])
PYTHON
)

"$bin/ecokv" run --model resources/demo-model --image "resources/demo-documents/$picture" \
    --prompt "$question" --policy ecokv --budget 48 --max-new-tokens 16 --with-full \
    --trace "$out/demo.ecokv.h5"
echo "Right answer: $answer"
"$bin/ecokv-lens" --render resources/recipes/demo.json --trace "$out/demo.ecokv.h5" --out "$out"
echo
echo "In $out/:"
ls "$out"
