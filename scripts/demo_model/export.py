# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a checkpoint as a Hugging Face LLaVA folder and compares it with the training code.

    PYTHONPATH=scripts python -m demo_model.export model.pt resources/demo-model

The folder is what the program opens; documents about it (MODEL_CARD.md) are left as they are.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor
from transformers import (
    CLIPImageProcessor,
    CLIPVisionConfig,
    GenerationConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)

from demo_model import architecture as arch
from demo_model import documents as docs
from demo_model.accuracy import Reader
from demo_model.batches import to_patches
from demo_model.hugging_face import WEIGHTS, read_weights, to_hugging_face

SPECIAL_TOKENS = ("<s>", "</s>", "<image>")  # tokens 256, 257, 258
# A user's turn is its picture, then "\nQ: ...\nA: "; the model's turn ends with </s>.
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}"
    "{% if message['content'] is string %}{{ '\\nQ: ' + message['content'] + '\\nA: ' }}"
    "{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'text' %}{{ '\\nQ: ' + part['text'] + '\\nA: ' }}{% endif %}"
    "{% endfor %}{% endif %}"
    "{% else %}{% if message['content'] is string %}{{ message['content'] + eos_token }}"
    "{% else %}{{ message['content'][0]['text'] + eos_token }}{% endif %}{% endif %}{% endfor %}"
)


def byte_alphabet() -> dict[int, str]:
    """GPT-2's alphabet: printable bytes stand for themselves, the others for U+0100 and on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in plain]
    return {
        **{byte: chr(byte) for byte in plain},
        **{byte: chr(256 + i) for i, byte in enumerate(rest)},
    }


def make_tokenizer() -> PreTrainedTokenizerFast:
    """A token for each byte, and the special ones."""
    core = Tokenizer(models.BPE(vocab={c: b for b, c in byte_alphabet().items()}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens(
        [AddedToken(token, special=True, normalized=False) for token in SPECIAL_TOKENS]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="</s>",
        model_max_length=2048,
    )
    tokenizer.image_token = "<image>"
    return tokenizer


def vision_config() -> CLIPVisionConfig:
    """The tower, as config.json describes it."""
    return CLIPVisionConfig(
        hidden_size=arch.V_WIDTH,
        intermediate_size=4 * arch.V_WIDTH,
        num_hidden_layers=arch.V_LAYERS,
        num_attention_heads=arch.V_HEADS,
        image_size=docs.SIDE,
        patch_size=arch.PATCH,
        hidden_act="quick_gelu",
        layer_norm_eps=1e-5,
        projection_dim=arch.V_WIDTH,
    )


def make_config() -> LlavaConfig:
    """config.json."""
    text = LlamaConfig(
        vocab_size=arch.VOCAB,
        hidden_size=arch.WIDTH,
        intermediate_size=arch.MLP,
        num_hidden_layers=arch.LAYERS,
        num_attention_heads=arch.HEADS,
        num_key_value_heads=arch.KV_HEADS,
        head_dim=arch.HEAD_DIM,
        max_position_embeddings=2048,
        rms_norm_eps=arch.NORM_EPS,
        rope_theta=arch.ROPE_THETA,
        tie_word_embeddings=False,
        bos_token_id=arch.BOS,
        eos_token_id=arch.EOS,
        pad_token_id=arch.EOS,
    )
    return LlavaConfig(
        architectures=["LlavaForConditionalGeneration"],
        dtype="bfloat16",
        vision_config=vision_config(),
        text_config=text,
        image_token_index=arch.IMAGE,
        image_seq_length=arch.N_IMAGE,
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        projector_hidden_act="gelu",
        multimodal_projector_bias=True,
    )


def make_processor(tokenizer: PreTrainedTokenizerFast, chat_template: str) -> LlavaProcessor:
    """Pictures to 192 x 192 in -1..1, <image> to 256 tokens, text as the tokenizer has it."""
    images = CLIPImageProcessor(
        size={"shortest_edge": docs.SIDE},
        crop_size={"height": docs.SIDE, "width": docs.SIDE},
        resample=3,
        image_mean=[0.5] * 3,
        image_std=[0.5] * 3,
    )
    return LlavaProcessor(
        image_processor=images,
        tokenizer=tokenizer,
        patch_size=arch.PATCH,
        vision_feature_select_strategy="default",
        image_token="<image>",
        num_additional_image_tokens=1,
        chat_template=chat_template,
    )


def export(state: dict[str, Tensor], folder: Path) -> None:
    """Writes the folder; weights become bfloat16."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = to_hugging_face(state)
    half = {name: value.bfloat16().contiguous() for name, value in tensors.items()}
    save_file(half, folder / WEIGHTS, metadata={"format": "pt"})
    make_config().save_pretrained(folder)
    GenerationConfig(
        bos_token_id=arch.BOS, eos_token_id=arch.EOS, pad_token_id=arch.EOS, do_sample=False
    ).save_pretrained(folder)
    make_processor(make_tokenizer(), CHAT_TEMPLATE).save_pretrained(folder)


@torch.no_grad()
def largest_difference(folder: Path, seed: int = 2026) -> float:
    """Largest difference of a next-token logit between `transformers` and the training code."""
    reader, mine = Reader(folder), arch.DemoModel().eval()
    mine.load_state_dict(read_weights(folder), strict=False)
    rng = np.random.default_rng(seed)
    document = docs.sample(rng, 5)
    question = docs.ask(rng, document).text
    theirs = reader.model(**reader.inputs(document.pixels, question)).logits[0, -1]
    prompt = torch.tensor(list(f"\nQ: {question}\nA: ".encode()))
    tokens = torch.full((1, 1 + arch.N_TEXT), arch.EOS)
    tokens[0, 0], tokens[0, 1 : 1 + len(prompt)] = arch.BOS, prompt
    last = torch.tensor([len(prompt) - 1])
    ours = mine(to_patches(document.pixels[None]), tokens, last).answer[0]
    return float((ours - theirs).abs().max())


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    export(torch.load(args.checkpoint)["model"], args.folder)
    print(f"largest logit difference to the training code: {largest_difference(args.folder):.1e}")


if __name__ == "__main__":
    main()
