import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from scripts.studies import check_mock
from scripts.studies.bench.replays import write_games
from scripts.studies.fidelity import folds
from scripts.studies.fidelity.contacts import CONTACT
from scripts.studies.fidelity.hits import HIT
from scripts.studies.fidelity.landings import LANDING
from scripts.studies.fidelity.measure import WINDOW, Measured


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    return [str(path) for path in write_games(tmp_path_factory.mktemp("games"), games=2, frames=300)]


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["check_mock.py", *arguments])
    return check_mock.main()


def measured(replay):
    """A file that was measured, with nothing in it."""
    nothing = {"landings": LANDING, "contacts": CONTACT, "hits": HIT, "windows": WINDOW}
    empty = {name: np.zeros(0, kind) for name, kind in nothing.items()}
    return Measured(Path(replay.path).name, (3, 18, 0), True, 1, 1, {}, {}, **empty)


def test_each_file_of_a_folder_is_told_when_it_is_measured(games, monkeypatch, capsys, tmp_path):
    folder = tmp_path / "games"
    folder.mkdir()
    for name in ("a.slp", "B.SLP"):
        shutil.copy(games[0], folder / name)
    (folder / "bad.slp").write_bytes(b"PK\x03\x04")
    told = []

    def measure(replay):
        told.append(capsys.readouterr().err.splitlines())
        return measured(replay)

    monkeypatch.setattr(check_mock, "measure", measure)
    assert run(monkeypatch, "--json", str(folder)) == 0
    shown = capsys.readouterr()
    assert [file["file"] for file in json.loads(shown.out)["files"]] == ["B.SLP", "a.slp"]
    (first, second), third = told, shown.err.splitlines()
    assert first[0].startswith("left out: ")
    assert first[1].startswith("Measuring 2 files; ")
    assert second[0].startswith("B.SLP: ")
    assert "1 of 2 files" in second[0]
    assert "2 of 2 files" in third[0]


def test_files_that_cannot_be_written_are_told_before_the_work(games, monkeypatch, capsys):
    monkeypatch.setattr(check_mock, "measure", None)
    assert run(monkeypatch, games[0], "--picture", "/dev/null/x.svg") == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.full
def test_json_is_all_that_is_printed(games, monkeypatch, capsys):
    assert run(monkeypatch, "--json", *games) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["covered"] > 0.5
    assert [file["file"] for file in made["files"]] == ["game_0.slp", "game_1.slp"]


@pytest.mark.full
def test_a_page_and_a_picture_are_written(games, monkeypatch, capsys, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- fidelity: begin -->\nold\n<!-- fidelity: end -->\nafter\n")
    picture = tmp_path / "fidelity.svg"
    tables = tmp_path / "fidelity.txt"
    files = ("--page", str(page), "--tables", str(tables), "--picture", str(picture))
    assert run(monkeypatch, games[0], *files) == 0
    assert "game_0.slp" in tables.read_text()
    assert capsys.readouterr().out == tables.read_text()
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| frames covered |" in text
    assert "game_0.slp" not in text
    assert picture.read_text().startswith("<svg")


@pytest.mark.full
def test_characters_have_a_place_of_their_own_on_a_page(games, monkeypatch, capsys, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- fidelity: begin -->\nkept\n<!-- fidelity: end -->\n<!-- characters: begin -->\n<!-- characters: end -->\n"
    )
    assert run(monkeypatch, *games, "--characters", "--page", str(page)) == 0
    text = page.read_text()
    assert "kept" in text
    assert text.count("| movement windows of ") == capsys.readouterr().out.count("| movement windows of ") > 0
    assert "hits by" not in text


@pytest.mark.full
def test_folds_are_scored_with_fitted_tables(games, monkeypatch, capsys):
    used = []
    monkeypatch.setattr(folds, "_fit", lambda replays, folder: used.append(len(replays)))
    assert run(monkeypatch, "--folds", "2", "--json", *games) == 0
    assert used == [1, 1]
    shown = capsys.readouterr()
    assert json.loads(shown.out)["same_actions"] > 0.9
    assert [line.partition(":")[0] for line in shown.err.splitlines()] == ["Fold 1 of 2", "Fold 2 of 2"]


@pytest.mark.parametrize("content", [None, b"", b"not a replay" * 100])
def test_a_bad_file_is_one_line_and_exit_code_2(content, tmp_path, monkeypatch, capsys):
    path = tmp_path / "bad.slp"
    if content is not None:
        path.write_bytes(content)
    assert run(monkeypatch, str(path)) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert "bad.slp" in shown.err
