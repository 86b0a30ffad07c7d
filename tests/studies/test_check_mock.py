import json
import sys

import pytest

from scripts.studies import check_mock
from scripts.studies.bench.replays import write_games
from scripts.studies.fidelity import folds


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    return [str(path) for path in write_games(tmp_path_factory.mktemp("games"), games=2, frames=300)]


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["check_mock.py", *arguments])
    return check_mock.main()


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
    assert run(monkeypatch, games[0], "--page", str(page), "--picture", str(picture)) == 0
    assert "game_0.slp" in capsys.readouterr().out
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
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
    assert json.loads(capsys.readouterr().out)["same_actions"] > 0.9


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
