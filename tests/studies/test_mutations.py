"""The mutations fit the sources, and a change is undone."""

import tomllib

import pytest

from scripts.studies import ROOT
from scripts.studies.mutations import __main__ as mutations

ALL = tomllib.loads(mutations.MUTATIONS.read_text("utf-8"))


@pytest.mark.parametrize("name", ALL)
def test_each_changes_one_place(name):
    assert mutations.target(ROOT, ALL[name]) == ROOT / ALL[name]["path"]
    assert ALL[name]["old"] != ALL[name]["new"]
    assert any((ROOT / path).exists() for path in ALL[name]["tests"].split())


@pytest.mark.parametrize(
    ("fails", "expected"), [((True,), "killed by its tests"), ((False, True), "killed"), ((False, False), "survived")]
)
def test_its_tests_run_first_and_the_file_is_restored(tmp_path, monkeypatch, fails, expected):
    (tmp_path / "tests").mkdir()
    rule, seen, left = tmp_path / "rule.py", [], iter(fails)
    rule.write_text("a = 1\n")

    def killed(copy, tests, python):
        seen.append((tests, rule.read_text()))
        return next(left)

    monkeypatch.setattr(mutations, "killed", killed)
    mutation = {"path": "rule.py", "old": "1", "new": "2", "tests": "tests gone"}
    assert mutations.measure(tmp_path, mutation, "python") == expected
    assert seen == [(["tests"], "a = 2\n"), ([], "a = 2\n")][: len(fails)]
    assert rule.read_text() == "a = 1\n"


def test_a_tree_without_the_rule_says_so(tmp_path):
    assert mutations.measure(tmp_path, ALL["gae_lambda"], "python") == "absent"
