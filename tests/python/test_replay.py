# SPDX-License-Identifier: GPL-3.0-or-later
"""`ecokv replay`, `sweep` and `diff` on traces of the demo model: the run's own numbers again, files, refusals."""
from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from conftest import DEMO_DOCUMENTS, DEMO_MODEL, program, run_ecokv, run_program
from scipy.stats import spearmanr

LAYERS, KV_HEADS = 6, 4
POLICIES = ["ecokv", "ecokv:geometry=pre", "ecokv:vnorm=on,sink=4", "mixkv:window=16", "snapkv:window=16", "streaming",
            "random:seed=3", "knorm", "vnorm", "keydiff", "manifoldkv", "tova", "h2o", "rkv:window=16", "full"]


def record(path: Path, policy: str, *more: object) -> Path:
    run_ecokv("run", "--model", DEMO_MODEL, "--image", DEMO_DOCUMENTS / "notice-board.png", "--prompt", "ZXY?",
              "--max-new-tokens", 1, "--policy", policy, "--trace", path, *more)
    return path


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("replay") / "run.ecokv.h5", "ecokv", "--budget", 48)


def kept_sets(replayed: dict[str, Any]) -> list[list[int]]:
    return [head["kept_tokens"] for head in replayed["heads"]]


def recorded_sets(path: Path, policy: str = "0") -> list[list[int]]:
    with h5py.File(path) as file:
        kept = file[f"policies/{policy}/kept"][()]
    return [list(np.flatnonzero(head)) for layer in kept for head in layer]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("allocator", "dtype"), [("uniform", "f32"), ("uniform", "bf16"), ("pyramid", "bf16"),
                                                  ("adaptive", "f32"), ("adaptive", "bf16")])
def test_replay_of_a_run_gives_its_survivors(tmp_path: Path, policy: str, allocator: str, dtype: str) -> None:
    path = record(tmp_path / "a.ecokv.h5", policy, "--budget", 40, "--allocator", allocator, "--dtype", dtype)
    replayed = run_ecokv("replay", path)
    assert kept_sets(replayed) == recorded_sets(path)
    assert replayed["reproduces"] == {"policy_id": "0", "heads": LAYERS * KV_HEADS, "heads_equal": LAYERS * KV_HEADS}
    with h5py.File(path) as file:
        for name in ("retained_mass", "output_error"):
            ours = [head[name] for head in replayed["heads"]]
            np.testing.assert_allclose(ours, file[f"policies/0/{name}"][()].ravel(), rtol=1e-4, atol=2e-5)


def test_replay_with_head_tables_gives_the_runs_survivors(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    for kind, option in (("weights", "allocator=static,head_weights={}"), ("redundancy", "redundancy=table:{}")):
        table = tmp_path / f"{kind}.json"
        table.write_text(json.dumps({"format": "ecokv-head-table", "kind": kind, "model": "demo-model", "layers": LAYERS,
                                     "kv_heads": KV_HEADS, "values": random.random((LAYERS, KV_HEADS)).tolist()}))
        path = record(tmp_path / f"{kind}.ecokv.h5", "ecokv:" + option.format(table), "--budget", 40)
        replayed = run_ecokv("replay", path)
        assert kept_sets(replayed) == recorded_sets(path)
        assert replayed["reproduces"]["heads_equal"] == LAYERS * KV_HEADS


def test_a_setting_replayed_equals_the_run_with_that_setting(trace: Path, tmp_path: Path) -> None:
    for policy, budget in (("mixkv:window=16", 64), ("ecokv:alpha=0.9", 24), ("snapkv:window=8,pool=7", 30)):
        other = record(tmp_path / f"{budget}.ecokv.h5", policy, "--budget", budget)
        replayed = run_ecokv("replay", trace, "--policy", policy, "--budget", budget)
        assert kept_sets(replayed) == recorded_sets(other)
        assert replayed["reproduces"] is None


def test_flags_change_the_runs_own_settings(trace: Path) -> None:
    replayed = run_ecokv("replay", trace, "--budget", 24)
    assert replayed["policy"]["policy"] == "ecokv"
    assert all(len(kept) == 24 for kept in kept_sets(replayed))
    assert run_ecokv("replay", trace, "--policy", "full")["mean_kept"] == replayed["tokens"]


@pytest.mark.parametrize("flags", [("--policy", "ecokv", "--budget", 0), ("--policy", "ecokv:budget=0")])
def test_a_budget_of_zero_keeps_everything_as_in_a_run(trace: Path, flags: tuple[object, ...]) -> None:
    replayed = run_ecokv("replay", trace, *flags)
    assert {head["kept"] for head in replayed["heads"]} == {269}


def test_a_share_takes_the_place_of_the_runs_budget(trace: Path) -> None:
    for arguments in (("--ratio", 0.9), ("--policy", "ecokv:ratio=0.9"), ("--policy", "snapkv:window=4", "--ratio", 0.9)):
        replayed = run_ecokv("replay", trace, *arguments)
        assert all(len(kept) == 26 for kept in kept_sets(replayed))  # floor(269 * 0.1)
    diff = run_ecokv("diff", trace, "--a", "ecokv:ratio=0.9", "--b", "ecokv:budget=26")
    assert diff["mean_jaccard"] == 1
    rows = run_ecokv("sweep", trace, "--policies", "ecokv,snapkv:window=4", "--ratio", 0.9)["rows"]
    assert [row["kept_per_head"] for row in rows] == [26, 26]
    assert [row["budget"] for row in rows] == [26, 26]


def test_a_sweep_names_the_tokens_of_a_share_and_what_was_refused(trace: Path, tmp_path: Path) -> None:
    table = tmp_path / "sweep.csv"
    done = run_program("ecokv", "sweep", trace, "--policies", "ecokv,h2o,full", "--ratio", 0.9, "--csv", table)
    assert done.returncode == 0, done.stderr
    rows = read_table(table.read_text("utf-8"))
    assert [row["budget"] for row in rows] == ["26", "", "0"]  # floor(269 * 0.1); h2o is refused, full keeps all
    assert "observes 269 query rows" in rows[1]["refused"] and rows[1]["note"] == rows[1]["kept_bytes"] == ""
    assert rows[0]["refused"] == rows[2]["refused"] == ""


def test_the_table_says_it_in_words(trace: Path) -> None:
    done = run_program("ecokv", "replay", trace)
    assert done.returncode == 0, done.stderr
    assert "Keeps 48.0 of 269 tokens per KV head (17.8 %)" in done.stdout
    assert "The same 24 survivor sets as recorded (policy 0)." in done.stdout


def test_tables_name_the_rows_and_budgets_that_were_used(trace: Path) -> None:
    """tova observes one row and is judged on 8; a ratio is shown as the tokens it comes to."""
    replayed = run_program("ecokv", "replay", trace, "--policy", "tova", "--budget", 48)
    assert "of the attention of the last 8 row(s)" in replayed.stdout, replayed.stderr
    sweep = run_program("ecokv", "sweep", trace, "--policies", "ecokv,full", "--ratio", 0.9)
    budgets = {line.split()[0]: line.split()[1] for line in sweep.stdout.splitlines()[1:]}
    assert budgets == {"ecokv:ratio=0.9": "26", "full": "all"}  # floor(269 * 0.1)


def test_the_new_file_holds_what_a_run_would_have_written(trace: Path, tmp_path: Path) -> None:
    live = record(tmp_path / "live.ecokv.h5", "mixkv:window=16", "--budget", 64)
    out = tmp_path / "replay.ecokv.h5"
    run_ecokv("replay", trace, "--policy", "mixkv:window=16", "--budget", 64, "--out", out)
    with h5py.File(live) as a, h5py.File(out) as b:
        for name in ("redundancy", "redundancy_cosine", "redundancy_euclid", "anisotropy", "mean_key_norm"):
            np.testing.assert_array_equal(a[f"heads/{name}"][()], b[f"heads/{name}"][()], err_msg=name)
        np.testing.assert_allclose(a["heads/participation_ratio"][()], b["heads/participation_ratio"][()], rtol=1e-5)
        for name in ("importance", "diversity", "diversity_cosine", "diversity_euclid", "score", "key_norm",
                     "value_norm"):
            np.testing.assert_array_equal(a[f"scores/{name}"][()], b[f"scores/{name}"][()], err_msg=name)
        np.testing.assert_array_equal(a["policies/0/kept"][()], b["policies/0/kept"][()])
        np.testing.assert_array_equal(a["policies/0/budget_per_head"][()], b["policies/0/budget_per_head"][()])
        assert b["policies/0"].attrs["kept_bytes"] == a["policies/0"].attrs["kept_bytes"]
        np.testing.assert_array_equal(a["prompt/token_ids"][()], b["prompt/token_ids"][()])
        np.testing.assert_array_equal(a["images/0"][()], b["images/0"][()])
        assert b.attrs["schema"] == "ecokv-trace" and b.attrs["complete"] == 1
        assert "tensors" not in b
        assert b["run"].attrs["kind"] == "replay"
        assert b["run"].attrs["replayed_from"] == "run.ecokv.h5"
        with h5py.File(trace) as source:
            assert b["run"].attrs["replayed_from_created"] == source.attrs["created"]
    assert run_ecokv("info", out)["dimensions"]["tokens"] == 269
    done = run_program("ecokv", "replay", out, "--policy", "snapkv", "--budget", 32)
    assert done.returncode == 3
    assert "holds results only" in done.stderr and "Replay run.ecokv.h5" in done.stderr


def test_the_new_file_opens_in_the_desktop(trace: Path, tmp_path: Path) -> None:
    lens = program("ecokv-lens")
    out = tmp_path / "replay.ecokv.h5"
    run_ecokv("replay", trace, "--budget", 32, "--out", out)
    recipe = tmp_path / "recipe.json"
    recipe.write_text(json.dumps({"trace": str(out), "figures": [
        {"kind": "head-map", "metric": "redundancy", "file": "map.png"},
        {"kind": "survival", "layer": -1, "mode": "count", "file": "survival.png"}]}))
    done = subprocess.run([str(lens), "--render", str(recipe), "--out", str(tmp_path)], capture_output=True, text=True,
                          timeout=120, env={**os.environ, "QT_QPA_PLATFORM": "offscreen"})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "map.png").stat().st_size > 1000 and (tmp_path / "survival.png").stat().st_size > 1000


def test_a_replay_never_replaces_its_trace(trace: Path) -> None:
    before = trace.read_bytes()
    done = run_program("ecokv", "replay", trace, "--out", trace)
    assert done.returncode == 2 and "names the trace itself" in done.stderr
    assert trace.read_bytes() == before


def test_a_file_that_others_read_can_be_replayed(trace: Path) -> None:
    with h5py.File(trace):  # as the desktop or a notebook holds it
        assert run_ecokv("replay", trace)["reproduces"]["heads_equal"] == LAYERS * KV_HEADS


def test_refusals_name_both_numbers(trace: Path) -> None:
    done = run_program("ecokv", "replay", trace, "--policy", "ecokv:window=65", "--budget", 80)
    assert done.returncode == 2
    assert "observes 65 query rows" in done.stderr and "recorded the last 64" in done.stderr
    done = run_program("ecokv", "replay", trace, "--policy", "ecokv:sink=10,recent=10", "--budget", 16)  # F031
    assert done.returncode == 2
    assert all(number in done.stderr for number in ("16", "10 sinks", "10 recent"))


def read_table(text: str) -> list[dict[str, str]]:
    assert text.startswith("# sweep of ")
    return list(csv.DictReader(io.StringIO(text.split("\n", 1)[1])))


def test_sweep_rows_are_those_of_single_replays(trace: Path, tmp_path: Path) -> None:
    table = tmp_path / "sweep.csv"
    done = run_program("ecokv", "sweep", trace, "--policies", "ecokv:alpha=0.7,window=8,snapkv:window=8", "--policies",
                       "random,full", "--budgets", "16,48", "--allocators", "uniform,adaptive", "--csv", table)
    assert done.returncode == 0, done.stderr
    rows = read_table(table.read_text("utf-8"))
    assert len(rows) == 3 * 2 * 2 + 1
    for row in rows:
        single = run_ecokv("replay", trace, "--policy", row["settings"])
        kept = [len(head["kept_tokens"]) for head in single["heads"]]
        assert float(row["kept_per_head"]) == pytest.approx(np.mean(kept))
        assert float(row["kept_bytes"]) == 2 * sum(kept) * 32 * 4
        assert float(row["kept_share"]) == pytest.approx(np.mean(kept) / 269, rel=1e-5)
        assert row["rows"] == "8"
        for name in ("retained_mass", "output_error"):  # window 8 everywhere, so that the rows are the same
            values = [head[name] for head in single["heads"]]
            assert float(row[name]) == pytest.approx(np.mean(values), abs=1e-5)
        assert float(row["output_error_max"]) == pytest.approx(max(h["output_error"] for h in single["heads"]), abs=1e-5)
    full = rows[-1]
    assert full["policy"] == "full" and float(full["retained_mass"]) == pytest.approx(1, abs=1e-5)
    assert "keeps everything" in full["note"]


def test_an_impossible_setting_is_an_explained_empty_row(trace: Path) -> None:
    """F031: one policy that protects more than a budget must not end the table for the others."""
    result = run_ecokv("sweep", trace, "--policies", "ecokv:recent=20,sink=4,snapkv:window=8,h2o", "--budgets", "16,48")
    refused = {(row["policy"], row["budget"]): row["refused"] for row in result["rows"]}
    assert "4 sinks + 20 recent" in refused["ecokv", 16]
    assert refused["ecokv", 48] is None and refused["snapkv", 16] is None
    assert "observes 269 query rows" in refused["h2o", 48]
    table = run_program("ecokv", "sweep", trace, "--policies", "ecokv:recent=20,snapkv:window=8", "--budgets", "16")
    assert table.returncode == 0 and "smaller than what is always kept" in table.stdout
    alone = run_program("ecokv", "sweep", trace, "--policies", "ecokv:recent=20", "--budgets", "16")
    assert alone.returncode == 2 and "smaller than what is always kept" in alone.stderr


def test_sweep_measures_all_rows_on_the_same_queries(trace: Path) -> None:
    result = run_ecokv("sweep", trace, "--policies", "snapkv:window=8,snapkv:window=16", "--budgets", "32")
    assert [row["rows"] for row in result["rows"]] == [16, 16]
    fewer = run_ecokv("sweep", trace, "--policies", "snapkv:window=8,snapkv:window=16", "--budgets", "32", "--rows", 8)
    own = run_ecokv("replay", trace, "--policy", "snapkv:window=8,budget=32")
    assert fewer["rows"][0]["retained_mass"] == pytest.approx(own["mean_retained_mass"], abs=1e-6)


def test_a_stopped_sweep_leaves_no_half_table(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    with h5py.File(tmp_path / "big.h5", "w") as file:
        file["tensors/keys"] = random.standard_normal((4, 4, 4096, 64), np.float32)
        file["tensors/window_queries"] = random.standard_normal((4, 8, 16, 64), np.float32)
    budgets = ",".join(str(budget) for budget in range(40, 3040))  # seconds of work: 30,000 settings
    sweep = subprocess.Popen([str(program("ecokv")), "sweep", str(tmp_path / "big.h5"), "--policies",
                              "ecokv,keydiff,manifoldkv,knorm,vnorm", "--allocators", "uniform,adaptive",
                              "--budgets", budgets, "--csv", str(tmp_path / "t.csv")], stderr=subprocess.PIPE, text=True)
    assert sweep.stderr is not None
    sweep.stderr.readline()  # "Sweeping (30000 settings)"
    time.sleep(0.1)
    sweep.send_signal(signal.SIGINT)
    _, errors = sweep.communicate(timeout=60)
    assert sweep.returncode == 4, errors
    assert not (tmp_path / "t.csv").exists()


def test_diff_equals_numpy_and_scipy(trace: Path, tmp_path: Path) -> None:
    other = tmp_path / "snapkv.ecokv.h5"
    run_ecokv("replay", trace, "--policy", "snapkv:window=16", "--budget", 32, "--out", other)
    table = tmp_path / "diff.csv"
    result = run_ecokv("diff", trace, "--a", "0", "--b", "snapkv:window=16", "--budget", 32, "--csv", table)
    with h5py.File(trace) as a, h5py.File(other) as b:
        kept_a, kept_b = a["policies/0/kept"][()] > 0, b["policies/0/kept"][()] > 0
        score_a, score_b = a["scores/score"][()], b["scores/score"][()]
        texts, kinds = a["prompt/token_text"].asstr()[()], a["prompt/token_kind"][()]
    for head in result["heads"]:
        at = head["layer"], head["kv_head"]
        both, either = (kept_a[at] & kept_b[at]).sum(), (kept_a[at] | kept_b[at]).sum()
        assert head["jaccard"] == pytest.approx(both / either)
        shared = np.isfinite(score_a[at]) & np.isfinite(score_b[at])
        assert head["spearman"] == pytest.approx(spearmanr(score_a[at][shared], score_b[at][shared]).statistic, abs=1e-9)
        only = np.flatnonzero(kept_a[at] & ~kept_b[at])
        assert [token["token"] for token in head["only_a"]] == list(only)
        assert [token["text"] for token in head["only_a"]] == list(texts[only])
        assert [token["kind"] for token in head["only_a"]] == [["text", "special", "image"][k] for k in kinds[only]]
    assert result["mean_jaccard"] == pytest.approx(np.mean([head["jaccard"] for head in result["heads"]]))
    lonely = {token["token"]: token["heads_only_b"] for token in result["tokens"] if token["heads_only_b"]}
    expected = (kept_b & ~kept_a).sum((0, 1))
    assert lonely == {int(t): int(expected[t]) for t in np.flatnonzero(expected)}
    rows = list(csv.DictReader(io.StringIO(table.read_text("utf-8").split("\n", 1)[1])))
    assert [float(row["jaccard"]) for row in rows] == pytest.approx([h["jaccard"] for h in result["heads"]], abs=1e-6)
    assert rows[3]["only_a"].split() == [str(token["token"]) for token in result["heads"][3]["only_a"]]


def test_diff_of_a_policy_with_itself_finds_nothing(trace: Path) -> None:
    result = run_ecokv("diff", trace, "--a", "0", "--b", "ecokv:budget=48")
    assert result["mean_jaccard"] == 1 and result["mean_spearman"] == pytest.approx(1)
    assert result["tokens"] == []


def test_diff_says_what_a_side_may_be(trace: Path) -> None:
    done = run_program("ecokv", "diff", trace, "--a", "7", "--b", "ecokv")
    assert done.returncode == 2
    assert "There is no policy '7'" in done.stderr and "id of a stored policy: 0" in done.stderr
