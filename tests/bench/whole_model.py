# SPDX-License-Identifier: GPL-3.0-or-later
"""C6 and C7: prefill and decoding of a whole model against transformers, same checkpoint, same run.

    .venv/bin/python tests/bench/whole_model.py build/release [--shape 1b] [--tokens 512] [--pairs 7]

Writes a random checkpoint of the shape into a temporary folder, opens it on both sides in bf16,
checks that both give the same distribution, then alternates the two, order swapped, and prints the
median ratio and the worst of the middle 80 %. A ratio above 1 means that ours is faster.
"""
from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM
from transformers.cache_utils import DynamicCache
from transformers.utils import logging

ROOT = Path(__file__).resolve().parents[2]
# Shapes of Llama-3.2-1B and SmolLM2-135M.
SHAPES: dict[str, dict[str, Any]] = {
    "1b": {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
           "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64,
           "vocab_size": 128256, "tie_word_embeddings": True},
    "135m": {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
             "num_attention_heads": 9, "num_key_value_heads": 3, "head_dim": 64,
             "vocab_size": 49152, "tie_word_embeddings": True},
}
# kl(transformers bf16, ours bf16): random weights make a nearly flat distribution.
MOST_DIVERGENCE = 1e-3


def write_checkpoint(folder: Path, shape: str) -> None:
    """A random bf16 model; the demo's tokenizer, since only ids are used."""
    torch.manual_seed(0)
    previous = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        config = LlamaConfig(max_position_embeddings=32768, bos_token_id=256, eos_token_id=257,
                             rope_parameters={"rope_type": "default", "rope_theta": 5e5},
                             **SHAPES[shape])
        LlamaForCausalLM(config).save_pretrained(folder)
    finally:
        torch.set_default_dtype(previous)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(ROOT / "resources" / "demo-model" / name, folder / name)


class Ours:
    def __init__(self, build: Path, folder: Path, threads: int) -> None:
        self.process = subprocess.Popen(
            [str(build / "bin" / "whole_model_ours"), str(folder), "bf16", str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, tokens: list[int], steps: int) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps({"tokens": tokens, "steps": steps}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("whole_model_ours ended; its message is above")
        answer: dict[str, Any] = json.loads(line)
        return answer


class Theirs:
    def __init__(self, folder: Path) -> None:
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()

    @torch.inference_mode()
    def run(self, tokens: list[int], steps: int) -> dict[str, Any]:
        cache = DynamicCache(config=self.model.config)
        start = time.perf_counter()
        logits = self.model(torch.tensor([tokens]), past_key_values=cache,
                            logits_to_keep=1).logits[0, -1]
        prefill = time.perf_counter() - start
        first = logits.float().numpy()
        chosen: list[int] = []
        start = time.perf_counter()
        for _ in range(steps):
            chosen.append(int(logits.argmax()))
            logits = self.model(torch.tensor([[chosen[-1]]]), past_key_values=cache).logits[0, -1]
        return {"prefill": prefill, "decode": time.perf_counter() - start, "chosen": chosen,
                "logits": first}


def divergence(reference: Any, ours: Any) -> float:
    p = torch.log_softmax(torch.as_tensor(np.asarray(reference), dtype=torch.float64), 0)
    q = torch.log_softmax(torch.as_tensor(np.asarray(ours), dtype=torch.float64), 0)
    return float((p.exp() * (p - q)).sum())


def summary(theirs: list[float], ours: list[float]) -> str:
    ratios = sorted(a / b for a, b in zip(theirs, ours, strict=True))
    worst = ratios[len(ratios) // 10]
    return f"{statistics.median(ratios):.2f}x (worst of the middle 80 %: {worst:.2f}x)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--shape", choices=sorted(SHAPES), default="1b")
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    logging.disable_progress_bar()
    torch.set_num_threads(options.threads)
    tokens = torch.randint(0, 256, (options.tokens,), generator=torch.Generator().manual_seed(1)).tolist()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_checkpoint(folder, options.shape)
        sides: list[tuple[str, Any]] = [("theirs", Theirs(folder)), ("ours", Ours(options.build, folder, options.threads))]
        times: dict[str, dict[str, list[float]]] = {
            side: {"prefill": [], "decode": []} for side, _ in sides}
        warm = {side: run.run(tokens, options.steps) for side, run in sides}
        kl = divergence(warm["theirs"]["logits"], warm["ours"]["logits"])
        if not kl <= MOST_DIVERGENCE:
            raise SystemExit(f"whole_model: KL {kl:.2g} between the two sides: no times are printed")
        for pair in range(options.pairs):
            for side, run in sides if pair % 2 == 0 else sides[::-1]:
                answer = run.run(tokens, options.steps)
                for part in ("prefill", "decode"):
                    times[side][part].append(answer[part])
    print(f"whole model, shape {options.shape}, bf16, {options.tokens} tokens, {options.steps} steps, "
          f"{options.threads} threads, {options.pairs} pairs, KL {kl:.1e}")
    for part, label in (("prefill", "C6 prefill"), ("decode", "C7 decode ")):
        theirs, ours = times["theirs"][part], times["ours"][part]
        rate = (options.tokens if part == "prefill" else options.steps) / statistics.median(ours)
        reference = (options.tokens if part == "prefill" else options.steps) / statistics.median(theirs)
        print(f"{label}: ours {rate:.1f} tokens/s, transformers {reference:.1f} tokens/s: "
              f"{summary(theirs, ours)}")


if __name__ == "__main__":
    main()
