"""Published figures: one version of the game, and pages that show what the documents say."""

import json
from dataclasses import replace

import pytest

from scripts.studies import figures
from scripts.studies.cells import Cells
from scripts.studies.figures import FIGURES, problems, read
from scripts.studies.pages import versions


def test_all_figures_are_of_the_same_versions():
    found = {(name, document): content["versions"] for name in FIGURES for document, content in read(name).items()}
    assert {name for name, _ in found} == set(FIGURES)
    assert len({json.dumps(each, sort_keys=True) for each in found.values()}) == 1, found


def test_the_pages_show_them():
    assert problems() == [], "make figures"


@pytest.fixture
def documents(tmp_path, monkeypatch):
    """One study of cells with a document of its own."""
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text("7\n")
    shown = replace(FIGURES["learning"], write=lambda root: (root / "docs/page.md").write_text("7\n"))
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.setattr(figures, "DATA", tmp_path)
    monkeypatch.setattr(figures, "shipped_tables", list)
    monkeypatch.setattr(figures.shipped, "CARDS", tmp_path / "docs" / "page.md")
    monkeypatch.setattr(figures, "FIGURES", {"pictures": shown, "learning": shown})
    (tmp_path / "README.md").write_text("")
    return tmp_path


def test_other_versions_and_other_pages_are_named(documents):
    assert problems() == ["pictures: no document in docs/data", "learning: no document in docs/data"]
    (documents / "learning.json").write_text(json.dumps({"seed_1": {"versions": versions()}}))
    assert problems() == ["pictures: no document in docs/data"]
    (documents / "docs" / "page.md").write_text("8\n")
    assert problems()[1:] == ["docs/page.md does not show the figures in docs/data"]
    (documents / "learning.json").write_text(json.dumps({"seed_1": {"versions": versions() | {"rules": 1}}}))
    assert "learning.json, seed_1: made with versions {'rules': 1" in problems()[1]


def test_a_finished_study_is_not_started_again(documents, monkeypatch):
    started = []
    monkeypatch.setattr(figures, "BY_CELL", set())
    monkeypatch.setattr(figures.subprocess, "run", lambda command, **_: started.append(command) or Done())
    figures.make("learning", None)
    assert len(started) == 1
    (documents / "learning.json").write_text(json.dumps({"versions": versions()}))
    figures.make("learning", None)
    assert len(started) == 1
    (documents / "learning.json").write_text(json.dumps({"versions": versions() | {"bots": 0}}))
    figures.make("learning", None)
    assert len(started) == 2


class Done:
    """A process that ended well."""

    returncode = 0


def test_a_cell_of_other_versions_is_measured_again(tmp_path):
    cells = Cells(tmp_path / "study.json")
    cells.make("a", lambda: {"versions": versions(), "figure": 1})
    cells.make("a", lambda: {"figure": 2})
    assert cells.read(["a"])[0]["figure"] == 1
    cells.write("a", {"versions": versions() | {"encoder": 0}, "figure": 1})
    cells.make("a", lambda: {"versions": versions(), "figure": 2})
    assert cells.read(["a"])[0]["figure"] == 2
