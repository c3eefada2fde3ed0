# SPDX-License-Identifier: GPL-3.0-or-later
"""The geometry of heads against numpy and scipy in float64: what a run records under /heads and what
`ecokv geometry` says of traces, ours and foreign."""
from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
import pytest
from conftest import DEMO_DOCUMENTS, DEMO_MODEL, run_ecokv, run_program
from scipy.cluster.hierarchy import fcluster, leaves_list, linkage  # type: ignore[import-untyped]
from scipy.spatial.distance import pdist  # type: ignore[import-untyped]
from scipy.stats import rankdata, spearmanr  # type: ignore[import-untyped]

pytestmark = pytest.mark.oracle

Array = npt.NDArray[np.float64]
IMAGE = 2


def unrotated(keys: Array, positions: npt.NDArray[np.int_], frequencies: Array) -> Array:
    """R(-p) k of pairs (i, i + dim/2); the angle is a float32 product, as models compute it."""
    angles = (positions.astype(np.float32)[:, None] * frequencies.astype(np.float32)[None]).astype(np.float64)
    cosine, sine = np.cos(angles), np.sin(angles)
    first, second = np.split(keys, 2, axis=-1)
    turned: Array = np.concatenate([first * cosine + second * sine, second * cosine - first * sine], -1)
    return turned


def spectrum(keys: Array) -> Array:
    values: Array = np.linalg.eigvalsh(np.cov(keys.T, bias=True)).astype(np.float64)[::-1]
    return values


def quantities(keys: Array) -> dict[str, float]:
    """From all pairs and from the eigenvalues, not from closed forms."""
    norms = np.linalg.norm(keys, axis=1)
    unit = keys / norms[:, None]
    off = ~np.eye(len(keys), dtype=bool)
    squared = (norms**2)[:, None] + (norms**2)[None] - 2 * keys @ keys.T
    values = spectrum(keys)
    return {
        "redundancy_cosine": (unit @ unit.T)[off].mean(),
        "redundancy_euclid": 1 - squared[off].mean() / (2 * (norms**2).mean()),
        "anisotropy": float(np.linalg.norm(unit.mean(0))),
        "participation_ratio": values.sum() ** 2 / (values**2).sum(),
        "mean_key_norm": norms.mean(),
    }


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, demo_documents: list[dict[str, Any]]) -> Path:
    path = tmp_path_factory.mktemp("geometry") / "run.ecokv.h5"
    document = demo_documents[0]
    run_ecokv("run", "--model", DEMO_MODEL, "--image", DEMO_DOCUMENTS / document["file"], "--prompt",
              document["questions"][0]["question"], "--budget", 48, "--max-new-tokens", 2, "--trace", path)
    return path


def test_recorded_metrics_are_those_of_the_recorded_keys(recorded: Path) -> None:
    """Every metric within 1e-5 of numpy: sums of 32 rows are fp32, all above is fp64."""
    with h5py.File(recorded) as trace:
        recent = int(trace["policies/0"].attrs["recent"])
        layers, kv_heads, tokens, dim = trace["tensors/keys"].shape
        candidates = np.arange(tokens) < tokens - recent
        kinds = trace["prompt/token_kind"][...]
        sets = {"": candidates, "_image": kinds == IMAGE, "_text": kinds != IMAGE}
        frequencies = trace["model/rope_inverse_frequencies"][...]
        checked = set()
        for layer in range(layers):
            for head in range(kv_heads):
                post = trace["tensors/keys"][layer, head].astype(np.float64)
                pre = unrotated(post, np.arange(tokens), frequencies)
                for ending, keys in (("", post), ("_pre", pre)):
                    for subset, chosen in sets.items():
                        for name, value in quantities(keys[chosen]).items():
                            path = f"heads/{name}{ending}{subset}"
                            if path in trace:
                                checked.add(path)
                                assert trace[path][layer, head] == pytest.approx(value, rel=1e-5, abs=1e-6), path
                    values = spectrum(keys[candidates])
                    stored = trace[f"heads/spectrum{ending}"][layer, head]
                    np.testing.assert_allclose(stored, values, rtol=1e-5, atol=1e-6 * values[0])
        assert len(checked) == 27
        assert trace["heads/spectrum"].attrs["axes"].tolist() == ["layer", "kv_head", "component"]
        assert dim == trace["heads/spectrum"].shape[-1]


def test_a_run_without_geometry_records_what_traces_always_held(tmp_path: Path) -> None:
    path = tmp_path / "t.ecokv.h5"
    run_ecokv("run", "--model", DEMO_MODEL, "--prompt", "hello, what is this?", "--policy", "full",
              "--max-new-tokens", 2, "--no-geometry", "--trace", path)
    with h5py.File(path) as trace:
        names = set(trace["heads"]) - {"layer", "kv_head"}
        assert names == {"anisotropy", "mean_key_norm", "participation_ratio", "redundancy",
                         "redundancy_cosine", "redundancy_euclid"}
        assert np.isfinite(trace["heads/participation_ratio"][...]).all()


def test_a_prompt_without_pictures_has_no_image_metrics(tmp_path: Path) -> None:
    path = tmp_path / "t.ecokv.h5"
    run_ecokv("run", "--model", DEMO_MODEL, "--prompt", "hello, what is this?", "--policy", "full",
              "--max-new-tokens", 2, "--trace", path)
    with h5py.File(path) as trace:
        assert "anisotropy_pre" in trace["heads"]
        assert not [name for name in trace["heads"] if name.endswith(("_image", "_text"))]


def test_info_says_what_there_is_without_listing_it_all(recorded: Path) -> None:
    text = run_program("ecokv", "info", recorded).stdout
    assert "geometry of heads" in text and "/heads/anisotropy " in text and "/heads/spectrum " in text
    assert "/heads/anisotropy_pre_image" not in text and "and 23 of the same metrics in /heads" in text
    paths = [entry["path"] for entry in run_ecokv("info", recorded)["datasets"]]
    assert "/heads/anisotropy_pre_image" in paths


def mutual_information(x: Array, y: Array) -> float:
    """Equal-frequency bins by mean rank, Miller-Madow, not below 0: mutual_information.h once more."""
    count = len(x)
    bins = min(16, max(2, int(np.sqrt(count / 5))))
    cells = np.zeros((bins, bins))
    a, b = (np.minimum(bins - 1, ((rankdata(v) - 0.5) * bins / count).astype(int)) for v in (x, y))
    np.add.at(cells, (a, b), 1)

    def entropy(counts: Array) -> tuple[float, int]:
        share = counts[counts > 0] / count
        return float(-(share * np.log(share)).sum()), len(share)

    (h_x, k_x), (h_y, k_y), (h_xy, k_xy) = (entropy(c) for c in (cells.sum(1), cells.sum(0), cells.ravel()))
    return max(0.0, h_x + h_y - h_xy + (k_x + k_y - k_xy - 1) / (2 * count))


def test_importance_is_related_to_diversity_as_scipy_says(recorded: Path) -> None:
    report = run_ecokv("geometry", recorded)
    assert report["source"] == "recorded" and report["scores"] == "recorded"
    with h5py.File(recorded) as trace:
        for head in report["heads"]:
            at = head["layer"], head["kv_head"]
            scores = {name: trace[f"scores/{name}"][at].astype(np.float64) for name in
                      ("importance", "diversity_cosine", "diversity_euclid", "diversity")}
            candidates = np.isfinite(scores["importance"])
            x = scores["importance"][candidates]
            found = head["importance"]
            assert found["candidates"] == candidates.sum()
            for key, name in (("cosine", "diversity_cosine"), ("euclid", "diversity_euclid"), ("composite", "diversity")):
                y = scores[name][candidates]
                assert found[key]["spearman"] == pytest.approx(spearmanr(x, y).statistic, abs=1e-9)
                assert found[key]["mutual_information"] == pytest.approx(mutual_information(x, y), abs=1e-9)
            agreement = spearmanr(scores["diversity_cosine"][candidates], scores["diversity_euclid"][candidates]).statistic
            assert found["rank_disagreement"] == pytest.approx(1 - agreement, abs=1e-9)


@pytest.mark.parametrize("layer", [-1, 3])
def test_heads_cluster_by_survivors_as_scipy_says(recorded: Path, layer: int) -> None:
    clusters = run_ecokv("geometry", recorded, "--layer", layer)["clusters"]
    with h5py.File(recorded) as trace:
        kept = trace["policies/0/kept"][...].astype(bool)
    masks = kept.reshape(-1, kept.shape[-1]) if layer < 0 else kept[layer]
    tree = linkage(pdist(masks, "jaccard"), "average")
    np.testing.assert_allclose(np.array(clusters["merges"]), tree, atol=1e-12)
    assert clusters["order"] == leaves_list(tree).tolist()
    assert clusters["first_head"] == max(0, layer) * kept.shape[1]
    groups = len(set(fcluster(tree, 0.3, "distance")))
    text = run_program("ecokv", "geometry", recorded, "--layer", layer).stdout
    assert f"the {len(masks)} heads fall into {groups} groups" in text


def foreign_copy(recorded: Path, path: Path, *names: str, rope: bool = True) -> None:
    """Only these tensors, as another program would dump them."""
    with h5py.File(recorded) as source, h5py.File(path, "w") as copy:
        for name in names:
            copy.create_dataset(f"tensors/{name}", data=source[f"tensors/{name}"][...].astype("f4"))
        if rope:
            copy["tensors/keys"].attrs["rope_theta"] = float(source["model"].attrs["rope_theta"])
            copy["tensors/keys"].attrs["rope_style"] = "half"


def test_a_foreign_trace_is_measured_from_its_keys(recorded: Path, tmp_path: Path) -> None:
    path = tmp_path / "foreign.h5"
    foreign_copy(recorded, path, "keys", "window_queries")
    report = run_ecokv("geometry", path)
    assert report["source"] == "keys" and report["scores"] == "ecokv"
    assert any("image" in note for note in report["notes"])
    with h5py.File(path) as trace:
        keys = trace["tensors/keys"][...].astype(np.float64)
    frequencies = 1 / 10000 ** (np.arange(keys.shape[-1] // 2) * 2 / keys.shape[-1])
    for head in report["heads"][::5]:
        post = keys[head["layer"], head["kv_head"]]
        pre = unrotated(post, np.arange(len(post)), frequencies)
        for ending, chosen in (("", post), ("_pre", pre)):
            for name, value in quantities(chosen).items():
                if name + ending in head["metrics"]:
                    assert head["metrics"][name + ending] == pytest.approx(value, rel=1e-5, abs=1e-6), name + ending
            values = spectrum(chosen)
            np.testing.assert_allclose(head[f"spectrum{ending}"], values, rtol=1e-5, atol=1e-6 * values[0])
        assert -1 <= head["importance"]["composite"]["spearman"] <= 1
    assert not [name for name in report["heads"][0]["metrics"] if name.endswith(("_image", "_text"))]


def test_keys_alone_are_enough_and_what_is_missing_is_said(recorded: Path, tmp_path: Path) -> None:
    path = tmp_path / "keys.h5"
    foreign_copy(recorded, path, "keys", rope=False)
    report = run_ecokv("geometry", path)
    assert "clusters" not in report and "importance" not in report["heads"][0]
    assert "anisotropy" in report["heads"][0]["metrics"] and "anisotropy_pre" not in report["heads"][0]["metrics"]
    notes = " ".join(report["notes"])
    assert "rope_theta" in notes and "window queries" in notes
    refused = run_program("ecokv", "geometry", path, "--survivors-csv", tmp_path / "s.csv")
    assert refused.returncode == 2 and "--policy" in refused.stderr


def test_another_policy_is_replayed_for_its_scores_and_survivors(recorded: Path) -> None:
    report = run_ecokv("geometry", recorded, "--policy", "snapkv:budget=64")
    assert report["scores"] == report["clusters"]["policy"] == "snapkv:budget=64"
    same = run_ecokv("geometry", recorded, "--policy", "ecokv:budget=48")
    stored = run_ecokv("geometry", recorded, "--policy", "0")
    assert same["clusters"]["merges"] == stored["clusters"]["merges"]
    for replayed, kept in zip(same["heads"], stored["heads"], strict=True):
        assert replayed["importance"]["composite"]["spearman"] == pytest.approx(
            kept["importance"]["composite"]["spearman"], abs=1e-12)
    unknown = run_program("ecokv", "geometry", recorded, "--policy", "snapkw")
    assert unknown.returncode == 2 and "snapkv" in unknown.stderr


def test_tables_are_written_as_csv(recorded: Path, tmp_path: Path) -> None:
    heads, spectra, survivors = (tmp_path / name for name in ("h.csv", "s.csv", "d.csv"))
    done = run_program("ecokv", "geometry", recorded, "--csv", heads, "--spectrum-csv", spectra, "--survivors-csv", survivors)
    assert done.returncode == 0, done.stderr
    assert "Most redundant" in done.stdout and "Undoing RoPE" in done.stdout and "Image tokens" in done.stdout
    with h5py.File(recorded) as trace:
        layers, kv_heads, _, dim = trace["tensors/keys"].shape
        with heads.open(encoding="utf-8") as file:
            file.readline()
            rows = list(csv.DictReader(file))
        assert len(rows) == layers * kv_heads
        for row in rows:
            at = int(row["layer"]), int(row["kv_head"])
            assert float(row["anisotropy_pre_image"]) == pytest.approx(float(trace["heads/anisotropy_pre_image"][at]), rel=1e-6)
        assert float(rows[0]["rank_disagreement"]) >= 0
        with spectra.open(encoding="utf-8") as file:
            file.readline()
            values = np.array([float(row["spectrum_pre"]) for row in csv.DictReader(file)])
        np.testing.assert_allclose(values.reshape(layers, kv_heads, dim), trace["heads/spectrum_pre"][...], rtol=1e-6)
    assert len(survivors.read_text("utf-8").splitlines()) == 2 + (layers * kv_heads) ** 2


def damage_last_chunk(path: Path, name: str) -> None:
    """Noise in place of the last stored chunk; the file still opens, for its tables are whole."""
    with h5py.File(path) as trace:
        dataset = trace[name]
        chunk = dataset.id.get_chunk_info(dataset.id.get_num_chunks() - 1)
        at = [int(offset) for offset in chunk.chunk_offset[:2]]
        assert at == [dataset.shape[0] - 1, dataset.shape[1] - 1]
    with path.open("r+b") as file:
        file.seek(chunk.byte_offset)
        file.write(b"\xff" * chunk.size)


@pytest.mark.parametrize("name", ["heads/spectrum", "scores/diversity_euclid"])
def test_damage_is_told_and_never_shown_as_missing(recorded: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / "damaged.ecokv.h5"
    run_ecokv("run", "--model", DEMO_MODEL, "--prompt", "hello, what is this?", "--budget", 8, "--window", 4, "--compact",
              "--max-new-tokens", 2, "--trace", path)
    whole = run_ecokv("geometry", path)
    damage_last_chunk(path, name)
    report = run_ecokv("geometry", path)
    assert not whole["notes"] and len(report["notes"]) == 1
    last = report["heads"][-1]
    assert f"/{name} is left out from layer {last['layer']} head {last['kv_head']} on" in report["notes"][0]
    assert report["heads"][:-1] == whole["heads"][:-1] and last != whole["heads"][-1]
    assert f"/{name} is left out" in run_program("ecokv", "geometry", path).stdout


def read_similarity(path: Path) -> tuple[str, list[tuple[int, int]], Array]:
    """The comment, (first, last token) of each row, the values [row, column]."""
    comment, header, *lines = path.read_text("utf-8").splitlines()
    cells = [line.split(",") for line in lines]
    rows = [(int(line[0]), int(line[1])) for line in cells]
    assert header.split(",") == ["first_token", "last_token", *(str(first) for first, _ in rows)]
    return comment, rows, np.array([line[2:] for line in cells], float)


def pooled(keys: Array, metric: str, block: int) -> Array:
    """Every pair first, then means over blocks: what the program must never hold."""
    if metric == "cosine":
        unit = keys / np.linalg.norm(keys, axis=1, keepdims=True)
        pairs = unit @ unit.T
    else:
        pairs = ((keys[:, None] - keys[None]) ** 2).sum(-1)
    starts = range(0, len(keys), block)
    return np.array([[pairs[i:i + block, j:j + block].mean() for j in starts] for i in starts])


@pytest.mark.parametrize("metric", ["cosine", "euclid"])
@pytest.mark.parametrize(("size", "tokens", "block"), [(None, None, 2), (16, None, 32), (10, "3:102", 16), (2048, "40:77", 1),
                                                       (1, "0:5", 8)])
def test_similarity_is_the_mean_of_all_pairs_of_a_block(recorded: Path, tmp_path: Path, metric: str, size: int | None,
                                                        tokens: str | None, block: int) -> None:
    """269, 99, 37 and 5 tokens: no block divides them. Tolerance 2e-5 of the largest value (fp32 means)."""
    table = tmp_path / "alike.csv"
    options = [*(("--size", size) if size else ()), *(("--tokens", tokens) if tokens else ())]
    done = run_program("ecokv", "geometry", recorded, "--layer", 2, "--head", 1, "--metric", metric, "--similarity-csv", table,
                       *options)
    assert done.returncode == 0, done.stderr
    comment, rows, values = read_similarity(table)
    first, end = (int(part) for part in (tokens or "0:269").split(":"))
    assert rows == [(at, min(at + block, end) - 1) for at in range(first, end, block)]
    with h5py.File(recorded) as trace:
        assert trace["tensors/keys"].shape[2] == 269
        expected = pooled(trace["tensors/keys"][2, 1, first:end].astype(np.float64), metric, block)
    np.testing.assert_allclose(values, expected, atol=2e-5 * np.abs(expected).max())
    assert comment.startswith("# ") and "prompt of 269 tokens" in comment and "layer 2 KV head 1" in comment
    assert f"blocks of {block} token" in comment


def test_keys_that_are_not_finite_are_counted_in_a_similarity_table(recorded: Path, tmp_path: Path) -> None:
    path, table = tmp_path / "keys.h5", tmp_path / "alike.csv"
    foreign_copy(recorded, path, "keys")
    with h5py.File(path, "r+") as trace:
        trace["tensors/keys"][0, 0, 7, 3] = np.nan
    done = run_program("ecokv", "geometry", path, "--layer", 0, "--head", 0, "--similarity-csv", table, "--tokens", "5:9")
    assert done.returncode == 0, done.stderr
    comment, _, values = read_similarity(table)
    assert "1 key(s) that are not finite count as zero" in comment
    assert (values[2] == 0).all() and values[1, 1] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("arguments", "said"), [
    (("--layer", 0), "--layer or --head was not given"),
    (("--head", 0), "--layer or --head was not given"),
    (("--layer", 99, "--head", 0), "no layer 99"),
    (("--layer", 0, "--head", 9), "no layer 0 head 9"),
    (("--layer", 0, "--head", 0, "--size", 0), "1 to 2048"),
    (("--layer", 0, "--head", 0, "--size", 100000), "1 to 2048"),
    (("--layer", 0, "--head", 0, "--metric", "dot"), "Choose cosine or euclid"),
    (("--layer", 0, "--head", 0, "--tokens", "5:5"), "Tokens 5:5"),
    (("--layer", 0, "--head", 0, "--tokens", "0:270"), "0:269"),
    (("--layer", 0, "--head", 0, "--tokens", "12"), "FIRST:END"),
])
def test_impossible_similarity_tables_are_refused(recorded: Path, tmp_path: Path, arguments: tuple[object, ...],
                                                  said: str) -> None:
    table = tmp_path / "alike.csv"
    done = run_program("ecokv", "geometry", recorded, "--similarity-csv", table, *arguments)
    assert done.returncode == 2 and said in done.stderr and not table.exists()


def test_options_of_the_similarity_table_need_it(recorded: Path, tmp_path: Path) -> None:
    alone = run_program("ecokv", "geometry", recorded, "--head", 0)
    assert alone.returncode == 2 and "--similarity-csv" in alone.stderr
    replayed = tmp_path / "scores.ecokv.h5"
    run_ecokv("replay", recorded, "--out", replayed)
    keyless = run_program("ecokv", "geometry", replayed, "--layer", 0, "--head", 0, "--similarity-csv", tmp_path / "a.csv")
    assert keyless.returncode == 3 and "/tensors/keys" in keyless.stderr
