# SPDX-License-Identifier: GPL-3.0-or-later
"""The tower of the 135M demo: its training code on a small goal, and the shipped tower's claim."""
from __future__ import annotations

import numpy as np
import pytest
import torch
from built_demos import built_demo
from demo_135m import train_tower as tower
from demo_135m.building import TOWER_FILE
from demo_model import architecture as arch
from safetensors.torch import load_file

WIDTH = 24
FRESH = 9_135_000  # a seed that no training drew with


def small_goal() -> tower.Goal:
    """Random embeddings of WIDTH for the labels that pages have."""
    generator = torch.Generator().manual_seed(1)
    labels = [0, 1, 2, 3, *map(ord, tower.DRAWN)]
    index = torch.zeros(arch.N_CHARACTERS, dtype=torch.long)
    index[torch.tensor(labels)] = torch.arange(len(labels))
    classes = torch.randn(len(labels), WIDTH, generator=generator)
    return tower.Goal(classes[index], classes, index, torch.tensor(1.0))


def test_the_loss_of_perfect_outputs_is_that_of_their_cross_entropy() -> None:
    goal = small_goal()
    _, labels = tower.draw(np.random.default_rng(FRESH), 1)
    perfect = goal.wanted[labels]
    assert goal.nearest_is_right(perfect, labels).all()
    logits = perfect[0] @ goal.classes.T / WIDTH**0.5
    entropy = -logits.log_softmax(-1)[torch.arange(arch.N_IMAGE), goal.index[labels[0]]]
    weight = torch.where(labels[0] > 0, 1.0, 0.05)
    assert float(goal.loss(perfect, labels)) == pytest.approx(float(0.3 * (entropy * weight).sum() / weight.sum()), rel=1e-5)


def test_the_rate_rises_then_falls() -> None:
    assert tower.rate_at(0, 0.0) == pytest.approx(2e-5)
    assert tower.rate_at(99, 0.5) == pytest.approx(2e-3)
    assert tower.rate_at(5000, 0.75) == pytest.approx(2e-3 * 0.51)
    assert tower.rate_at(5000, 1.0) == pytest.approx(2e-5)


def test_some_steps_lower_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eighty steps on a clock that counts them; pages of another seed."""
    ticks = iter(range(1000))
    monkeypatch.setattr(tower.time, "monotonic", lambda: float(next(ticks)))
    goal = small_goal()
    patches, labels = tower.draw(np.random.default_rng(FRESH), 2)
    losses = []
    for steps in (0, 80):
        trained = tower.train(goal, seconds=steps + 1, size=2) if steps else tower.Tower(WIDTH)
        with torch.no_grad():
            losses.append(float(goal.loss(trained(patches), labels)))
    assert losses[1] < 0.9 * losses[0]


def test_names_and_shapes_are_those_of_the_shipped_tower() -> None:
    shipped = {name: tuple(value.shape) for name, value in load_file(TOWER_FILE).items()}
    made = {name: tuple(value.shape) for name, value in tower.Tower(576).state_dict().items()}
    assert made == shipped


@pytest.mark.slow
@pytest.mark.oracle
def test_the_shipped_tower_gives_every_cell_of_fresh_pages_its_embedding() -> None:
    """Nearest embedding right everywhere; the squared error of drawn cells is a hundredth of their square."""
    goal = tower.goal_of(built_demo("135m"), "language_model.model.embed_tokens.weight")
    model = tower.Tower(goal.classes.shape[1])
    model.load_state_dict({name: value.float() for name, value in load_file(TOWER_FILE).items()})
    patches, labels = tower.draw(np.random.default_rng(FRESH), 8)
    with torch.no_grad():
        out = model(patches) / goal.scale
    assert goal.nearest_is_right(out, labels).all()
    drawn = labels > 0
    wanted = goal.wanted[labels]
    error = (out - wanted)[drawn].pow(2).sum() / wanted[drawn].pow(2).sum()
    assert float(error) < 0.02
