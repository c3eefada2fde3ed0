# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo model's training code: targets, losses, names, and a short run from end to end."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from conftest import DEMO_MODEL
from demo_model import architecture as arch
from demo_model import documents as docs
from demo_model import train
from demo_model.accuracy import Reader
from demo_model.batches import IGNORE, Batch, Mix, image_keys, make_batch, new_question, to_patches
from demo_model.export import export, largest_difference
from demo_model.hugging_face import from_hugging_face, read_weights, to_hugging_face
from demo_model.losses import cross_entropy, exact_answers, hit_rate


@pytest.fixture(scope="module")
def batch() -> Batch:
    return make_batch(np.random.default_rng(11), 4, 6, Mix(0.4, 0.4))


def test_patches_are_those_of_a_convolution():
    pixels = docs.sample(np.random.default_rng(1), 3).pixels
    weight = torch.randn(5, arch.PATCH_SIZE, generator=torch.Generator().manual_seed(0))
    ours = to_patches(pixels[None]) @ weight.T
    image = torch.from_numpy(pixels).permute(2, 0, 1)[None] / 127.5 - 1
    kernel = weight.view(5, 3, arch.PATCH, arch.PATCH)
    theirs = F.conv2d(image, kernel, stride=arch.PATCH).flatten(2).transpose(1, 2)
    # 432 products of size 1 in another order.
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def test_answer_tokens_follow_their_positions(batch):
    text = batch.tokens[:, 1:].flatten()
    asked = batch.answer != IGNORE
    assert torch.equal(text[batch.index[asked] + 1], batch.answer[asked])


def test_conversations_read_as_written(batch):
    first = bytes(batch.tokens[0, 1:].clamp_max(127).tolist()).decode()
    assert first.startswith("\nQ: ") and "?\nA: " in first
    ends = int((batch.answer == arch.EOS).sum())
    assert ends == len(batch.kinds)


def test_a_new_question_is_seldom_a_repeated_one():
    """With one of three counts left to ask, four tries find it in 1 - (2/3)^4 = 80 % of cases."""
    rng = np.random.default_rng(5)
    document = docs.sample(rng, 1)
    texts = [
        new_question(rng, document, Mix(0.0, 0.0), {"circles?", "squares?"}).text
        for _ in range(400)
    ]
    # Three standard deviations of a binomial of 400 draws are 6 %.
    assert abs(texts.count("triangles?") / 400 - 0.80) < 0.06


def test_key_is_known_from_its_last_letter_on():
    document = docs.sample(np.random.default_rng(3), 1)
    (line,) = document.lines
    start = int(np.flatnonzero(document.owners == 0)[0])
    keys = image_keys(document)
    letters = [ord(letter) - ord("A") for letter in line.key]
    assert (keys[: start + 2] == IGNORE).all() and (keys[start + 7 :] == IGNORE).all()
    assert (keys[start + 2 : start + 7] == letters).all()


def test_text_keys_spell_the_question(batch):
    """From the key's last letter on, the target is the three letters which end there."""
    text = batch.tokens[:, 1:]
    keys = batch.keys[:, arch.N_IMAGE :]
    known = keys[..., 0] != IGNORE
    begins = known.clone()
    begins[:, 1:] &= ~known[:, :-1]
    assert int(begins.sum()) == sum(kind != "count" for kind in batch.kinds)
    for b, position in begins.nonzero().tolist():
        letters = text[b, position - 2 : position + 1] - ord("A")
        assert torch.equal(letters, keys[b, position])


def test_ignored_targets_cost_nothing():
    logits = torch.tensor([[2.0, 0.0], [0.0, 5.0]])
    target = torch.tensor([0, IGNORE])
    assert cross_entropy(logits, target).item() == pytest.approx(np.log1p(np.exp(-2)), rel=1e-6)
    assert hit_rate(logits, target) == 1.0


def test_answer_is_right_only_if_all_its_tokens_are(batch):
    perfect = F.one_hot(batch.answer.clamp_min(0), arch.VOCAB).float()
    assert exact_answers(perfect, batch) == [True] * len(batch.kinds)
    perfect[0] = 0.0
    perfect[0, 0] = 1.0  # the first answer's first token becomes NUL
    assert exact_answers(perfect, batch) == [False] + [True] * (len(batch.kinds) - 1)


def test_names_go_both_ways():
    state = arch.DemoModel().state_dict()
    back = from_hugging_face(to_hugging_face(state))
    kept = {name for name in state if not name.startswith(arch.READ_OUTS)}
    assert set(back) == kept
    assert all(torch.equal(back[name], state[name]) for name in kept)


def test_shipped_weights_fit_the_training_code():
    """Logits agree to rounding of float32 sums over at most 432 terms and six layers."""
    assert largest_difference(DEMO_MODEL) < 1e-3


def test_look_up_stage_leaves_perception_alone():
    trainer = train.Trainer(train.STAGES["look-up"], 2, compiled=False)
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    trainer.learn(np.random.default_rng(0), 0.0)
    changed = {
        name for name, value in trainer.model.state_dict().items() if (value != before[name]).any()
    }
    assert changed
    assert all(name.startswith(train.LOOK_UP_PARTS) for name in changed)


def test_rate_rises_stays_and_falls():
    stage = train.STAGES["look-up"]
    assert train.rate_at(stage, 0, 0.0) == pytest.approx(stage.rate / train.WARM_UP)
    assert train.rate_at(stage, 1000, 0.5) == stage.rate
    assert train.rate_at(stage, 1000, 1.0) == pytest.approx(0.01 * stage.rate)


def run(monkeypatch, *arguments: str) -> None:
    common = ["--batch", "2", "--seconds", "600", "--threads", "1", "--no-compile"]
    monkeypatch.setattr(sys, "argv", ["train", *common, *arguments])
    train.main()


@pytest.mark.slow
def test_short_run_trains_resumes_and_exports(monkeypatch, tmp_path):
    out = tmp_path / "model.pt"
    run(monkeypatch, "--start", str(DEMO_MODEL), "--out", str(out), "--steps", "3")
    first = torch.load(out)
    assert first["step"] == 3
    run(monkeypatch, "--resume", "--out", str(out), "--steps", "5")
    second = torch.load(out)
    assert second["step"] == 5
    assert all(value.isfinite().all() for value in second["model"].values())
    assert not torch.equal(first["model"]["head.weight"], second["model"]["head.weight"])
    export(second["model"], tmp_path / "hf")
    assert largest_difference(tmp_path / "hf") < 1e-3
    pixels = docs.sample(np.random.default_rng(0), 2).pixels
    assert isinstance(Reader(tmp_path / "hf").answer(pixels, "circles?"), str)


@pytest.mark.slow
def test_reading_stage_learns_from_nothing(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(train, "REPORT_EVERY", 5)
    out = tmp_path / "model.pt"
    run(monkeypatch, "--stage", "reading", "--out", str(out), "--steps", "20")
    losses = [
        float(line.split("extra ")[1].split()[0])
        for line in capsys.readouterr().out.splitlines()
        if "extra" in line
    ]
    assert len(losses) == 4
    assert losses[-1] < losses[0]


def test_exported_folder_reads_back(tmp_path):
    state = read_weights(DEMO_MODEL)
    export(state, tmp_path)
    again = read_weights(tmp_path)
    assert all(torch.equal(again[name], state[name]) for name in state)
    for name in ("config.json", "tokenizer.json", "processor_config.json", "chat_template.jinja"):
        assert (tmp_path / name).read_text() == (DEMO_MODEL / name).read_text()
