# SPDX-License-Identifier: GPL-3.0-or-later
"""Trains the demo model on a CPU.

    PYTHONPATH=scripts python -m demo_model.train --stage reading --seconds 4500 --out reading.pt
    PYTHONPATH=scripts python -m demo_model.train --start reading.pt --steps 1600 --out model.pt
    PYTHONPATH=scripts python -m demo_model.train --start resources/demo-model --out further.pt

--start takes a checkpoint or a model folder and begins a new schedule; a run that was cut off goes
on from its own --out with --resume. The README beside this file says what the shipped weights
went through.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from demo_model.architecture import BACK_LAYER, LAYERS, DemoModel, Outputs
from demo_model.batches import Batch, Mix, make_batch
from demo_model.hugging_face import read_weights
from demo_model.losses import (
    cross_entropy,
    exact_answers,
    hit_rate,
    look_up_loss,
    reading_loss,
)

WARM_UP = 200  # steps over which the learning rate rises
DECAY = 0.35  # the last part of a run, over which it falls to almost nothing
REPORT_EVERY, SAVE_EVERY, EVALUATE_EVERY = 50, 250, 500
EVALUATION_SEED, EVALUATION_MIX, EVALUATION_LINES = 77, Mix(0.4, 0.4), (6, 9)
EVALUATION_SIZE = 96  # documents
NEXT_RUNG = 0.85  # answer tokens right before longer documents are given

Forward = Callable[..., Outputs]


@dataclass(frozen=True)
class Stage:
    """What one stage of the recipe learns, and from what."""

    mix: Mix
    rungs: tuple[int, ...]  # most lines of a document, longer ones as answers get better
    rate: float  # peak learning rate
    reading_weight: float  # of losses.reading_loss
    look_up_weight: float  # of losses.look_up_loss
    parts: tuple[str, ...]  # beginnings of the names of what is learned


LOOK_UP_PARTS = (
    *(f"layers.{i}." for i in range(BACK_LAYER + 1, LAYERS)),
    *("norm.", "head.", "key.", "line_ink."),
)
STAGES = {
    # To see: every weight, from nothing. Characters and their neighbours are named from the start.
    "reading": Stage(Mix(0.6, 0.25), (1, 2, 3, 5, 7, 9), 2e-3, 0.3, 0.0, ("",)),
    # To find: what is seen stays as it is, the layers above learn which line is asked about.
    "look-up": Stage(Mix(0.4, 0.45), (9,), 1e-3, 0.0, 0.3, LOOK_UP_PARTS),
}


def learned_parameters(model: DemoModel, stage: Stage) -> list[nn.Parameter]:
    """Freezes what the stage leaves alone and returns the rest."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith(stage.parts))
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def make_optimizer(parameters: list[nn.Parameter], rate: float) -> torch.optim.AdamW:
    """AdamW that decays matrices and leaves vectors alone."""
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": 0.05},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True)


def rate_at(stage: Stage, steps_here: int, share: float) -> float:
    """Learning rate: a linear rise, a plateau, a linear fall."""
    rise, fall = min(1, (steps_here + 1) / WARM_UP), min(1, (1 - share) / DECAY + 0.01)
    return stage.rate * rise * fall


def run_model(forward: Forward, batch: Batch) -> Outputs:
    """One pass in bfloat16 where that is safe."""
    with torch.autocast("cpu", torch.bfloat16):
        return forward(batch.patches, batch.tokens, batch.index)


@torch.no_grad()
def evaluate(forward: Forward, most_lines: int, size: int, batch_size: int) -> dict[str, float]:
    """Exact match by kind of question over `size` held-out documents."""
    rng = np.random.default_rng(EVALUATION_SEED)
    hits: dict[str, list[bool]] = {}
    for _ in range(size // batch_size):
        batch = make_batch(rng, batch_size, most_lines, EVALUATION_MIX)
        answers = exact_answers(run_model(forward, batch).answer, batch)
        for kind, right in zip(batch.kinds, answers, strict=True):
            hits.setdefault(kind, []).append(right)
    return {kind: float(np.mean(right)) for kind, right in sorted(hits.items())}


class Trainer:
    """One run of one stage."""

    def __init__(self, stage: Stage, batch_size: int, compiled: bool) -> None:
        self.stage, self.batch_size = stage, batch_size
        self.model = DemoModel()
        self.parameters = learned_parameters(self.model, stage)
        self.optimizer = make_optimizer(self.parameters, stage.rate)
        self.forward: Forward = torch.compile(self.model, dynamic=False) if compiled else self.model
        self.first = self.step = self.rung = 0
        self.recent: list[tuple[float, ...]] = []

    def load(self, start: Path) -> None:
        """Weights from a checkpoint or a model folder, with a new schedule."""
        if start.is_dir():
            self.model.load_state_dict(read_weights(start), strict=False)
            return
        state = torch.load(start)
        self.model.load_state_dict(state["model"], strict=False)
        self.first = self.step = state["step"]

    def resume(self, checkpoint: Path) -> float:
        """Goes on where `save` left off; returns the seconds spent until then."""
        state = torch.load(checkpoint)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.first, self.step, self.rung = state["first"], state["step"], state["rung"]
        return float(state["spent"])

    def save(self, checkpoint: Path, spent: float) -> None:
        """Writes everything that `resume` needs."""
        state: dict[str, Any] = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "first": self.first,
            "step": self.step,
            "rung": self.rung,
            "spent": spent,
        }
        torch.save(state, checkpoint)

    def learn(self, rng: np.random.Generator, share: float) -> None:
        """One step; `share` of the run is done."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate_at(self.stage, self.step - self.first, share)
        lines = self.stage.rungs[self.rung]
        batch = make_batch(rng, self.batch_size, lines, self.stage.mix)
        outputs = run_model(self.forward, batch)
        loss = cross_entropy(outputs.answer, batch.answer)
        extra = torch.zeros(())
        if self.stage.reading_weight:
            extra = extra + self.stage.reading_weight * reading_loss(outputs, batch)
        if self.stage.look_up_weight:
            extra = extra + self.stage.look_up_weight * look_up_loss(outputs, batch)
        self.optimizer.zero_grad()
        (loss + extra).backward()
        nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        self.step += 1
        self.recent.append(
            (
                loss.item(),
                extra.item(),
                hit_rate(outputs.answer, batch.answer),
                hit_rate(outputs.keys, batch.keys),
                hit_rate(outputs.line_inks, batch.line_inks),
            )
        )

    def report(self) -> None:
        """Prints means since the last report, and gives longer documents when answers are good."""
        loss, extra, answers, keys, inks = np.mean(self.recent, 0)
        self.recent.clear()
        lines = self.stage.rungs[self.rung]
        print(
            f"step {self.step} lines<={lines} loss {loss:.4f} extra {extra:.4f} "
            f"right: answers {answers:.4f} keys {keys:.4f} inks {inks:.4f}",
            flush=True,
        )
        if answers > NEXT_RUNG and self.rung < len(self.stage.rungs) - 1:
            self.rung += 1


def train(trainer: Trainer, out: Path, seconds: float, steps: int, spent: float = 0.0) -> None:
    """Runs until `seconds` or `steps` are used up, whichever is first; `spent` seconds are."""
    rng = np.random.default_rng(1 + trainer.step)
    begin = time.monotonic() - spent
    while True:
        spent = time.monotonic() - begin
        share = max(spent / seconds, (trainer.step - trainer.first) / steps)
        if share >= 1:
            break
        trainer.learn(rng, share)
        if trainer.step % REPORT_EVERY == 0:
            print(f"{100 * share:.1f} % ", end="")
            trainer.report()
        if trainer.step % SAVE_EVERY == 0:
            trainer.save(out, spent)
        if trainer.step % EVALUATE_EVERY == 0:
            for lines in EVALUATION_LINES:
                found = evaluate(trainer.forward, lines, EVALUATION_SIZE, trainer.batch_size)
                print(f"held out, lines<={lines}:", found, flush=True)
    trainer.save(out, spent)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stage", choices=STAGES, default="look-up")
    parser.add_argument("--start", type=Path, help="checkpoint or model folder to begin from")
    parser.add_argument("--out", type=Path, default=Path("checkpoint.pt"))
    parser.add_argument("--resume", action="store_true", help="go on from --out")
    parser.add_argument("--seconds", type=float, default=4500.0)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=16, help="documents a step")
    parser.add_argument("--rate", type=float, help="peak learning rate, if not the stage's")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-compile", action="store_true", help="for runs of a few steps")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    stage = STAGES[args.stage]
    stage = replace(stage, rate=args.rate or stage.rate)
    trainer = Trainer(stage, args.batch, not args.no_compile)
    spent = 0.0
    if args.resume:
        spent = trainer.resume(args.out)
    elif args.start:
        trainer.load(args.start)
    train(trainer, args.out, args.seconds, args.steps, spent)


if __name__ == "__main__":
    main()
