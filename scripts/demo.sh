#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Records a demo trace with the CLI and draws its figures: demo.sh BUILD_DIR OUT_DIR [DEMO MODEL_FOLDER]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$1/bin
out=$2
demo=${3:-}
mkdir -p "$out"

# picture, question and right answer of the first document of a list
first_question() {
    python3 - "$1" <<'PYTHON'
import json, os, sys
document = json.load(open(sys.argv[1], encoding="utf-8"))["documents"][0]
question = document["questions"][0]
picture = os.path.normpath(os.path.join(os.path.dirname(sys.argv[1]), document["file"]))
print(picture, question["question"], question["answer"])
PYTHON
}

case "$demo" in
"")
    model=resources/demo-model
    read -r picture question answer < <(first_question resources/demo-documents/documents.json)
    ask=(--image "$picture" --prompt "$question")
    recipe=demo
    ;;
135m)
    model=$4
    read -r picture question answer < <(first_question resources/demo-135m/documents.json)
    ask=(--image "$picture" --prompt "$question")
    recipe="demo-135m"
    ;;
smollm2)
    model=$4
    answer=$(cat resources/demo-135m/text-answer.txt)
    ask=(--plain-prompt --prompt "$(cat resources/demo-135m/text-prompt.txt)")
    recipe=demo-text
    ;;
esac

"$bin/ecokv" run --model "$model" "${ask[@]}" --policy ecokv --budget 48 --max-new-tokens 16 \
    --with-full --trace "$out/demo.ecokv.h5"
echo "Right answer: $answer"
"$bin/ecokv-lens" --render "resources/recipes/$recipe.json" --trace "$out/demo.ecokv.h5" --out "$out"
echo
echo "In $out/:"
ls "$out"
