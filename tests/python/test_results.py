# SPDX-License-Identifier: GPL-3.0-or-later
"""The results script: statistics by hand, disjoint documents, the choice of a setting, the README's section."""
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, program

sys.path.insert(0, str(ROOT / "scripts"))

from results import studies, tables, text
from results.measure import Measured, Policy, Program, canonical, key_of, measure
from results.questions import document, is_right, questions
from results.statistics import estimate, over_budgets, paired

DEMO = next(model for model in studies.models(ROOT) if model.name == "demo")


def test_standard_errors_of_hand_worked_samples() -> None:
    """1, 2, 3: s = 1, error 1/sqrt(3). Documents without a value do not count."""
    found = estimate(np.array([1.0, 2.0, 3.0, np.nan]))
    assert found.mean == 2 and found.error == pytest.approx(1 / np.sqrt(3))
    difference = paired(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 0.0]))
    assert difference.mean == 2 and difference.is_clear
    assert not paired(np.array([1.0, -1.0, 0.5]), np.zeros(3)).is_clear
    assert np.isnan(estimate(np.array([np.nan])).mean)


def test_pairing_removes_what_documents_have_in_common() -> None:
    hard = np.array([0.0, 5.0, 10.0, 100.0])
    assert paired(hard + 1, hard) == (1.0, 0.0)


def test_means_over_budgets_leave_refused_ones_out() -> None:
    found = over_budgets(np.array([[1.0, np.nan, 3.0], [np.nan] * 3]))
    assert found[0] == 2 and np.isnan(found[1])


def test_the_two_sets_share_no_document() -> None:
    pages = {which: {document(DEMO, which, i).pixels.tobytes() for i in range(12)} for which in ("choose", "confirm")}
    assert len(pages["choose"]) == len(pages["confirm"]) == 12
    assert not pages["choose"] & pages["confirm"]
    shared = {page.tobytes() for page in [document(DEMO, "choose", 3).pixels]}
    assert shared <= pages["choose"], "a larger set must begin with the smaller one"


def test_questions_name_the_value_that_was_drawn(tmp_path: Path) -> None:
    for i, question in enumerate(questions(DEMO, "confirm", 6, tmp_path)):
        values = {f"{line.key}?": line.value for line in document(DEMO, "confirm", i).lines}
        assert values[question.text] == question.value
        assert question.picture.exists()


def test_answers_are_right_to_the_digit() -> None:
    assert is_right("375.", "375") and is_right(" 3 7 5", "375")
    assert not is_right("0375", "375") and not is_right("37", "375")


def test_policies_are_found_in_the_programs_rows_whatever_the_order_of_options() -> None:
    policy = Policy("snapkv:recent=8,window=8,allocator=adaptive", "x")
    assert canonical(policy) == key_of({"policy": "snapkv:window=8,recent=8", "allocator": "adaptive"})
    assert canonical(policy) != key_of({"policy": "snapkv:window=8,recent=8", "allocator": "uniform"})


def made_up(kl: dict[str, list[float]]) -> Measured:
    """Four documents, one budget."""
    names = [policy.name for policy in studies.single_changes()]
    measured = Measured([Policy(name, name) for name in names], [24])
    for name in names:
        measured.kl[name] = np.array(kl.get(name, [1.0, 1.1, 0.9, 1.0]))[:, None]
        measured.right[name] = np.ones((4, 1))
    measured.full_right = np.ones(4)
    return measured


def test_only_changes_that_lower_the_kl_clearly_are_combined() -> None:
    measured = made_up({"ecokv:geometry=pre": [0.5, 0.55, 0.45, 0.5], "ecokv:window=16": [0.8, 0.9, 0.75, 0.8],
                        "ecokv:window=4": [0.9, 1.0, 0.8, 0.95], "ecokv:alpha=0": [1.4, 0.8, 0.6, 1.1]})
    found = studies.promising(measured)
    assert {change.option for change in found} == {"geometry=pre", "window=16"}
    texts = [policy.text for policy in studies.combinations(found)]
    assert sorted(texts) == sorted({f"ecokv:{found[0].option},{found[1].option}", "ecokv:geometry=pre", "ecokv:window=16"})
    assert studies.best_of(measured, ["ecokv", "ecokv:window=16", "ecokv:geometry=pre"]) == "ecokv:geometry=pre"


def test_one_default_takes_only_what_every_model_agrees_on() -> None:
    clear = made_up({"ecokv:geometry=pre": [0.5, 0.55, 0.45, 0.5], "ecokv:window=4": [0.5, 0.55, 0.45, 0.5]})
    other = made_up({"ecokv:geometry=pre": [0.99, 1.1, 0.89, 1.0], "ecokv:window=4": [1.2, 1.3, 1.0, 1.1]})
    found = studies.agreed([clear, other], ["window=4", "geometry=pre", "window=16"])
    assert found == ["geometry=pre"], "window=4 is worse on the other, window=16 changes nothing"
    assert [policy.text for policy in studies.joint(found, ["allocator=adaptive"])] == [
        "ecokv", "ecokv:geometry=pre", "ecokv:allocator=adaptive", "ecokv:geometry=pre,allocator=adaptive"]
    assert [policy.text for policy in studies.joint([], [])] == ["ecokv"]


def test_differences_are_called_by_two_standard_errors() -> None:
    measured = made_up({"ecokv:geometry=pre": [0.5, 0.55, 0.45, 0.5], "ecokv:alpha=0": [1.4, 0.8, 0.6, 1.1]})
    text = tables.differences(measured, "ecokv", ["ecokv:geometry=pre", "ecokv:alpha=0"])
    lines = text.splitlines()
    assert "**worse**" in lines[2] and "+0.500" in lines[2]
    assert lines[3].count("no clear difference") == 2


def test_rank_correlation_handles_ties() -> None:
    """scipy.stats.spearmanr([1, 2, 2, 4], [1, 3, 2, 4]) = 0.9486832980505138"""
    found = tables.correlation(tables.ranks(np.array([1.0, 2, 2, 4])), tables.ranks(np.array([1.0, 3, 2, 4])))
    assert found == pytest.approx(0.9486832980505138)


def test_the_readme_section_is_replaced_between_its_markers(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"a\n{tables.BEGIN}\nold\n{tables.END}\nb\n", "utf-8")
    tables.replace_section(readme, "new")
    assert readme.read_text("utf-8") == f"a\n{tables.BEGIN}\nnew\n{tables.END}\nb\n"
    readme.write_text("no markers", "utf-8")
    with pytest.raises(SystemExit):
        tables.replace_section(readme, "new")


def test_the_projects_readme_has_the_markers() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    for marker in (tables.BEGIN, tables.END, *tables.TEXT_MARKERS):
        assert text.count(marker) == 1


def test_a_small_grid_on_the_demo_model_is_measured_and_kept(tmp_path: Path) -> None:
    policies = [studies.with_options("window=8,recent=8", "snapkv"), studies.with_options("")]
    asked = questions(DEMO, "confirm", 2, tmp_path)
    runner = Program(program("ecokv"), tmp_path / "runs", jobs=1)
    measured = measure(runner, DEMO, asked, policies, [4, 24])
    assert measured.documents == 2
    assert np.isnan(measured.kl["snapkv:window=8,recent=8"][:, 0]).all(), "4 < 8 recent tokens: refused"
    assert (measured.kl["ecokv"] >= 0).all() and set(measured.right["ecokv"].ravel()) <= {0.0, 1.0}
    kept = sorted((tmp_path / "runs").iterdir())
    before = [file.stat().st_mtime_ns for file in kept]
    again = measure(runner, DEMO, asked, policies, [4, 24])
    assert [file.stat().st_mtime_ns for file in sorted((tmp_path / "runs").iterdir())] == before
    np.testing.assert_array_equal(measured.kl["ecokv"], again.kl["ecokv"])


def test_text_questions_hold_their_value_once_and_end_where_the_answer_begins() -> None:
    seen = set()
    for index in range(40):
        question = text.question(index)
        rows = question.text.split("\n\n")[0].splitlines()[1:]
        codes = dict(row.split(":") for row in rows)
        key = question.text[-4:-1]
        assert len(rows) == len(codes) == text.LINES
        assert codes[key] == question.value and question.text.endswith(f" is {key}:")
        assert question.picture is None
        seen.add(question.text)
    assert len(seen) == 40
    assert text.question(3) == text.questions(4)[3], "a larger set must begin with the smaller one"


def test_the_demo_prompt_is_the_first_text_question() -> None:
    folder = ROOT / "resources" / "demo-135m"
    assert (folder / "text-prompt.txt").read_text("utf-8") == text.question(0).text + "\n"
    assert (folder / "text-answer.txt").read_text("utf-8") == text.question(0).value + "\n"


def test_the_text_section_says_how_many_tables_were_read(tmp_path: Path) -> None:
    measured = made_up({})
    measured.budgets = [24]
    measured.full_right = np.array([1.0, 1.0, 1.0, 0.0])
    names = [policy.name for policy in studies.single_changes()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "TIGHT", [24])
        patch.setattr(text, "against_snapkv", lambda *_: "")
        patch.setattr(text.tables, "differences", lambda *_: "")
        said = text.section(measured, measured, [Policy(name, name) for name in names])
    assert "4 tables of 30 codes" in said and "reads .75 of them right" in said
    assert "| `ecokv` | 1.00 / 1.00 |" in said


def test_scores_are_compared_with_the_same_protection() -> None:
    measured = Measured([], [16])
    for name, kl in (("ecokv:window=8,recent=4", 0.5), ("snapkv:window=8,recent=4", 1.0)):
        measured.kl[name] = kl + np.array([[0.0], [0.1], [0.2]])
        measured.right[name] = np.ones((3, 1))
    said = text.against_snapkv(measured, "window=8,recent=4", [16])
    assert "`ecokv:window=8,recent=4` minus" in said and "| `snapkv:window=8,recent=4` | +0.000" in said
    assert "-0.500" in said


def test_sections_of_the_readme_do_not_touch_each_other(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    begin, end = tables.TEXT_MARKERS
    readme.write_text(f"{tables.BEGIN}\na\n{tables.END}\n{begin}\nb\n{end}\n", "utf-8")
    tables.replace_section(readme, "new", tables.TEXT_MARKERS)
    assert readme.read_text("utf-8") == f"{tables.BEGIN}\na\n{tables.END}\n{begin}\nnew\n{end}\n"
